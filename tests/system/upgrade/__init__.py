"""An upgrade from the oldest version whose database is supported, under reads and writes (docs/reliability.md)."""
