"""Text and bytes as clients send them → Parsed. Knows formats, and nothing of the database."""
