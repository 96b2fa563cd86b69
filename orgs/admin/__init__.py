from . import api_keys, audit_events, invitations, members_and_teams, organizations, scim_tokens, single_sign_on

__all__ = [
    "api_keys",
    "audit_events",
    "invitations",
    "members_and_teams",
    "organizations",
    "scim_tokens",
    "single_sign_on",
]
