"""The published HTTP contracts: a folder each, thin adapters over the services. None imports another."""
