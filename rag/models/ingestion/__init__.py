"""Models of ingestion: jobs, syncs, outages of models, and what each organisation stores."""
