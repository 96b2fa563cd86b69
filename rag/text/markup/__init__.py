"""Markup within texts: HTML, links, pictures and code in Markdown, directions of writing, structure of plain texts."""
