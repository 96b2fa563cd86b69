"""Permissions of roles, scopes of API keys, actions and visibilities (docs/contracts/access.md)."""

import enum
from collections.abc import Iterable

from django.db import models
from django.utils.translation import gettext


class Permission(models.TextChoices):
    """What a role allows its members to do in an organisation."""

    SOURCES_CREATE = "sources.create", "create data sources"
    SOURCES_INGEST = "sources.ingest", "send documents to data sources"
    SOURCES_MANAGE = "sources.manage", "see, change and delete data sources, their access and their jobs"
    MEMBERS_MANAGE = "members.manage", "change members, teams and roles"


def describe_permissions(names: Iterable[str]) -> str:
    """Return permissions as people know them from the pages of roles."""
    labels = dict(Permission.choices)
    return ", ".join(gettext("“{name}”").format(name=labels.get(name, name)) for name in sorted(names))


# The role of people who join without an invitation: with single sign-on, or created by a directory.
DEFAULT_ROLE = "member"
# The roles of a new organisation.
DEFAULT_ROLES: dict[str, list[str]] = {
    "owner": list(Permission.values),
    "admin": list(Permission.values),
    "editor": [Permission.SOURCES_CREATE.value, Permission.SOURCES_INGEST.value],
    DEFAULT_ROLE: [],
}


class Scope(models.TextChoices):
    """What an API key may be used for. It never allows more than its user may do."""

    QUERY = "query", "query: search and ask"
    INGEST = "ingest", "ingest: send documents and watch jobs"
    MANAGE = "manage", "manage: create, change and delete data sources"


class Action(enum.Enum):
    """What a caller wants to do: QUERY reads passages, INGEST writes documents, MANAGE changes the source.

    VIEW is allowed to callers who may do any of these. For all others the source does not exist.
    """

    QUERY = "query"
    INGEST = "ingest"
    MANAGE = "manage"
    VIEW = "view"


# The scope that an API key needs for an action. VIEW needs no particular one.
SCOPE_FOR = {Action.QUERY: Scope.QUERY, Action.INGEST: Scope.INGEST, Action.MANAGE: Scope.MANAGE}


class Visibility(models.TextChoices):
    """Who may query a data source (the pipeline contract, "Data Source Access")."""

    PUBLIC = "public", "public: every member of the organisation"
    ROLE = "role", "role: members who hold one of the chosen roles"
    TEAM = "team", "team: members of one of the chosen teams"
    PRIVATE = "private", "private: the chosen people"
    PERSONAL = "personal", "personal: its owner only"


class QueryHistory(models.TextChoices):
    """What is kept of searches and conversations, from the least to the most strict."""

    FULL = "full", "full: what was asked and found, and conversations"
    REDACTED = "redacted", "redacted: what was found, as ids; not what was asked, and no conversations"
    NONE = "none", "none: nothing"
