"""Reads documents for those who may query them: their text in parts, also over MCP, and pictures of their pages."""
