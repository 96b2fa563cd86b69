"""Titles of sections in texts whose format does not mark them."""
