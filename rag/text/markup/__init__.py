"""Markup within texts: tags of HTML, marks of code blocks in Markdown, and the structure that plain texts have without it."""
