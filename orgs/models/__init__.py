from .organizations import ApiKey, Caller, Membership, Organization, Role, Team

__all__ = ["ApiKey", "Caller", "Membership", "Organization", "Role", "Team"]
