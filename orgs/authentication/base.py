"""The last step of every authentication class, when the caller is known."""

from accounts.models import User
from orgs.access.caller import Caller
from ragsite.postgres import identity


def authenticated(caller: Caller) -> tuple[User, Caller]:
    """Set the database identity of the rest of the request to the caller's.

    Returns:
        The value that DRF expects from `authenticate`: it becomes `request.user` and `request.auth`.
    """
    identity.set_current(caller.database_identity)
    return caller.authenticated_user, caller
