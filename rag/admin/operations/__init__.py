from . import admin_home, operations_page

__all__ = ["admin_home", "operations_page"]
