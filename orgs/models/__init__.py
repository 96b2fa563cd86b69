from .organizations import AnyUser, ApiKey, Membership, Organization, Role, Team

__all__ = ["AnyUser", "ApiKey", "Membership", "Organization", "Role", "Team"]
