from . import audit_events, organizations

__all__ = ["audit_events", "organizations"]
