from . import embedding_models, jobs, quality, sources

__all__ = ["embedding_models", "jobs", "quality", "sources"]
