from . import delivery_admin, webhook_admin

__all__ = ["delivery_admin", "webhook_admin"]
