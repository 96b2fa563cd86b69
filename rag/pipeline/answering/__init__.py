"""Answers from passages: prompt, generation or extraction, citations."""
