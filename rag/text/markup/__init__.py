"""Markup within texts: tags of HTML, and the marks of code blocks in Markdown."""
