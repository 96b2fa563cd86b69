"""Backups: one archive with the rows of the database and the original files (decision 0060)."""
