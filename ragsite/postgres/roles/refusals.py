"""Statements that the database refuses to this caller, whose access has ended since their request was checked."""

from psycopg import errors

# The function of PostgreSQL that finds a missing privilege of a role, which is a defect and no refusal. Both have the
# same SQLSTATE, and the message may be in any language.
_MISSING_PRIVILEGE = "aclcheck_error"


def is_refusal(error: Exception) -> bool:
    """Return whether a statement failed because row-level security or a trigger does not let the caller write a row."""
    cause = error.__cause__
    return isinstance(cause, errors.InsufficientPrivilege) and cause.diag.source_function != _MISSING_PRIVILEGE
