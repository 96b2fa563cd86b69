"""Moving data sources to another embedding model."""
