"""Ingestion jobs: submitting, listing, cancelling and retrying them, and the files that were uploaded for them."""
