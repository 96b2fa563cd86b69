"""Readers of PDF files."""
