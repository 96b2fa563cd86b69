"""Reads documents for those who may query them: their text in parts, and pictures of their pages."""
