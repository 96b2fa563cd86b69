"""Search in 10,000 to 1,000,000 chunks: times, sizes, and recall within narrow scopes."""
