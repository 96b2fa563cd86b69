"""Readers of spreadsheets."""
