"""Django's PostgreSQL backend with an identity in every transaction (docs/architecture.md, "The second fence")."""
