"""The parts of a passage that an answer can quote: sentences, items, rows and code blocks, and groups of them."""
