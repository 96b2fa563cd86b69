from . import quality_page, source_admin

__all__ = ["quality_page", "source_admin"]
