from . import documents, embedding_models, job_documents, jobs, organizations, sources

__all__ = ["documents", "embedding_models", "job_documents", "jobs", "organizations", "sources"]
