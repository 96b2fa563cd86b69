"""Pull sync: a worker lists a place, fetches what has changed and deletes what has disappeared (decision 0064)."""
