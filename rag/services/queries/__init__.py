"""Searches, questions, chats and the agent on behalf of a caller; their history; explanations of searches."""
