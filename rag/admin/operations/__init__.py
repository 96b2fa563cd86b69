from . import admin_home, navigation, operations_page

__all__ = ["admin_home", "navigation", "operations_page"]
