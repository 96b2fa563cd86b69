"""What can be done with the product: a transaction, a status, an enqueue. Contracts, admin and tasks call these."""
