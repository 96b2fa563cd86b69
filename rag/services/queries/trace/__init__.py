"""Explains searches step by step, for the people who manage the data sources."""
