"""the v3 contract: one document at once, search. camelCase, frozen."""
