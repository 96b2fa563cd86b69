"""Deletes rows after their retention periods (docs/decisions/0039-retention.md)."""
