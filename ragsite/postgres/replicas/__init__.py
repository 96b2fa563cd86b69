"""Read replicas: which searches may use one (docs/decisions/0072-read-replicas.md)."""
