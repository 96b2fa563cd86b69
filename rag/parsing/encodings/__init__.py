"""Decodes texts: Unicode, and older encodings."""
