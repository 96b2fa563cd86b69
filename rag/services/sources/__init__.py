"""Data sources and their documents: finding, creating, changing and deleting them."""
