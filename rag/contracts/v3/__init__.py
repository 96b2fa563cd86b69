"""The v3 contract: one document at once, search, chat. camelCase, frozen."""
