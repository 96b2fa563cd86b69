from . import home, page

__all__ = ["home", "page"]
