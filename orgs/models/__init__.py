from .api_keys import ApiKey
from .organizations import AnyUser, Membership, Organization, Role, Team

__all__ = ["AnyUser", "ApiKey", "Membership", "Organization", "Role", "Team"]
