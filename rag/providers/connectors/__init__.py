"""Connectors list and open the items of a location that is synced (decision 0064)."""
