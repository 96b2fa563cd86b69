"""Pull sync under real faults: a folder is edited and workers are killed (docs/reliability.md)."""
