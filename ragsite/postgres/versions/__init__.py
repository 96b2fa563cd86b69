"""Which versions of the code and of the database fit together."""
