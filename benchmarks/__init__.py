"""What `make bench` measures: always a ratio to the bare work in the same run, for machines are noisy."""
