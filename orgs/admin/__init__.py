from . import api_keys, audit_events, members_and_teams, organizations

__all__ = ["api_keys", "audit_events", "members_and_teams", "organizations"]
