from . import documents, embedding_models, job_documents, jobs, organizations, quality, sources

__all__ = ["documents", "embedding_models", "job_documents", "jobs", "organizations", "quality", "sources"]
