"""Stored searches, conversations and answers of users, and how much of them is stored."""
