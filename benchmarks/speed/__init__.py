"""Times of single parts of the product: the contracts' targets, migrating, and the lists of the admin."""
