from . import connection_admin, run_admin

__all__ = ["connection_admin", "run_admin"]
