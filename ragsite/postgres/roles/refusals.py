"""Statements that the database refuses to this caller, whose access has ended since their request was checked."""

from django.db import DatabaseError
from psycopg import errors

# The function of PostgreSQL that finds a missing privilege of a role, which is a defect and no refusal. Both have the
# same SQLSTATE, and the message may be in any language.
_MISSING_PRIVILEGE = "aclcheck_error"


def is_refusal(error: Exception) -> bool:
    """Return whether a statement failed because the caller may not write a row, or does not see it any more."""
    cause = error.__cause__
    if isinstance(cause, errors.InsufficientPrivilege):  # of row-level security or a trigger
        return cause.diag.source_function != _MISSING_PRIVILEGE
    # Django itself raises it if `save` finds no row to update.
    return type(error) is DatabaseError and cause is None
