"""The published HTTP contracts, one package each: thin adapters over the services. No contract imports another."""
