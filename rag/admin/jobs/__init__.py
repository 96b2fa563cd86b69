from . import documents, jobs

__all__ = ["documents", "jobs"]
