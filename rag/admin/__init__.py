from . import embedding_models, job_documents, jobs, sources

__all__ = ["embedding_models", "job_documents", "jobs", "sources"]
