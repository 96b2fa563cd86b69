"""Decides before generation whether passages can answer a question, and how probably."""
