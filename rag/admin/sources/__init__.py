from . import quality, sources

__all__ = ["quality", "sources"]
