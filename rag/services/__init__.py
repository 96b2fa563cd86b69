"""The operations of the product, which contracts, admin, tasks and commands call. They own transactions and states."""
