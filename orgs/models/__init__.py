from .api_keys import ApiKey
from .organizations import AnyUser, Membership, Organization, Role, Team
from .single_sign_on import GroupMapping, IdentityProvider, LinkedIdentity, SignInDomain

__all__ = [
    "AnyUser",
    "ApiKey",
    "GroupMapping",
    "IdentityProvider",
    "LinkedIdentity",
    "Membership",
    "Organization",
    "Role",
    "SignInDomain",
    "Team",
]
