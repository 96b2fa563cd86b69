"""What the OpenAI-compatible API needs beyond searches: data sources as models, and embeddings of texts."""
