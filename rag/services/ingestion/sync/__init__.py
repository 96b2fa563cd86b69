"""Pull sync: lists a location, fetches what has changed and deletes what has disappeared (decision 0064)."""
