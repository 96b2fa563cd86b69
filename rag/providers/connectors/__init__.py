"""Connectors list and open what is at a place from which documents are fetched (decision 0064)."""
