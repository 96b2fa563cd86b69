"""How pages show texts: answers, documents, quotes, and what Markdown means in them."""
