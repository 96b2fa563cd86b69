"""What runs in the peers' own environment: it imports nothing of the product."""
