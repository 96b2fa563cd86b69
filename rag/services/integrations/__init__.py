"""What integrations need beyond the services of the HTTP contracts: sources as models, dialogues, embeddings."""
