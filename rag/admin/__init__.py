from . import calibrations, documents, embedding_models, job_documents, jobs, organizations, people, quality, sources

__all__ = [
    "calibrations",
    "documents",
    "embedding_models",
    "job_documents",
    "jobs",
    "organizations",
    "people",
    "quality",
    "sources",
]
