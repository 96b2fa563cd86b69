from .api_keys import ApiKey
from .invitations import Invitation
from .organizations import AnyUser, Membership, Organization, Role, Team
from .scim import ScimGroup, ScimToken, ScimUser
from .single_sign_on import GroupMapping, IdentityProvider, LinkedIdentity, Protocol, SignInDomain, UsedAssertion

__all__ = [
    "AnyUser",
    "ApiKey",
    "GroupMapping",
    "IdentityProvider",
    "Invitation",
    "LinkedIdentity",
    "Membership",
    "Organization",
    "Protocol",
    "Role",
    "ScimGroup",
    "ScimToken",
    "ScimUser",
    "SignInDomain",
    "Team",
    "UsedAssertion",
]
