"""Search, chat, agent and search traces on behalf of a caller."""
