from . import calibrations, documents, embedding_models, job_documents, jobs, organizations, quality, sources

__all__ = [
    "calibrations",
    "documents",
    "embedding_models",
    "job_documents",
    "jobs",
    "organizations",
    "quality",
    "sources",
]
