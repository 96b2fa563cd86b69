"""Organisations, their teams and roles, and who belongs to them."""
