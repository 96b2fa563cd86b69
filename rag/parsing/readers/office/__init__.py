"""Readers of text documents, spreadsheets and presentations."""
