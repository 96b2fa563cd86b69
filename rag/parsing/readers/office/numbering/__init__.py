"""The numbers of automatic lists and headings, which files do not store as text."""
