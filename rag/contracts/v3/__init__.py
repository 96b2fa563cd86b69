"""contracts/v3-ingestion-and-chat.md: one document at once, search. camelCase, frozen."""
