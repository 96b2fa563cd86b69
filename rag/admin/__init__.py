from . import calibrations, documents, embedding_models, jobs, organizations, people, sources

__all__ = ["calibrations", "documents", "embedding_models", "jobs", "organizations", "people", "sources"]
