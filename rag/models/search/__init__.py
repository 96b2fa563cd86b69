"""Models of searches and conversations."""
