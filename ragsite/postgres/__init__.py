"""Django's PostgreSQL backend with an identity in every transaction (docs/decisions/0035-row-level-security.md)."""
