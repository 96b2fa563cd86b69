"""Parsers: turn texts and files of clients into ParsedDocument. They know formats, but not the database."""
