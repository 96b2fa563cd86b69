from . import embedding_models, jobs, sources

__all__ = ["embedding_models", "jobs", "sources"]
