"""Which parts of passages are quoted."""
