"""Markup within texts: tags of HTML, marks of code blocks in Markdown, and structure that plain texts only suggest."""
