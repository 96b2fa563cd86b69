"""Headings of text documents that have no style of headings: lines in bold, underlined or large type."""
