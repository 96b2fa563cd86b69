from . import documents, embedding_models, jobs, organizations, sources

__all__ = ["documents", "embedding_models", "jobs", "organizations", "sources"]
