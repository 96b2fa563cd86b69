"""The people, roles and teams that a data source can be opened to, each written as one text."""

from collections.abc import Iterator

from django.db.models import Model, QuerySet
from django.utils.translation import gettext, gettext_noop

from accounts.models import User
from orgs.models import Membership, Organization, Role, Team
from rag.admin.sources.source_page_base import MAX_SUGGESTIONS
from rag.models import Grant

_WORDS = {"user": gettext_noop("Person"), "role": gettext_noop("Role"), "team": gettext_noop("Team")}


class UnknownGrantee(Exception):
    """The text names nobody in the organisation. The message is for the person who wrote it."""


def label(grant: Grant) -> str:
    """Return how a grant's person, role or team is written; empty for a new grant."""
    for kind, word in _WORDS.items():
        if grantee := getattr(grant, kind):
            return f"{gettext(word)}: {grantee.email if kind == 'user' else grantee.name}"
    return ""


def suggestions(organization: Organization) -> Iterator[str]:
    """Yield the organisation's teams, roles and people as a form suggests them."""
    for kind in ("team", "role"):
        for name in _groups(organization, kind).order_by("name").values_list("name", flat=True)[:MAX_SUGGESTIONS]:
            yield f"{gettext(_WORDS[kind])}: {name}"
    members = Membership.objects.filter(organization=organization, is_active=True).order_by("user__email")
    for email in members.values_list("user__email", flat=True)[:MAX_SUGGESTIONS]:
        yield f"{gettext(_WORDS['user'])}: {email}"


def resolve(text: str, organization: Organization) -> tuple[str, object]:
    """Find what a text names: "Person: ann@x.example", "Role: editor", "Team: support", or a name alone.

    The word is English or in the language of the page.

    Returns:
        The kind (`user`, `role` or `team`) and the row.

    Raises:
        UnknownGrantee: Nothing in the organisation has this name, or several things have it.
    """
    word, colon, rest = text.partition(":")
    written = word.strip().lower()
    kinds = [kind for kind, name in _WORDS.items() if colon and written in (name.lower(), gettext(name).lower())]
    name = (rest if kinds else text).strip()
    matches = [(kind, row) for kind in kinds or _WORDS for row in _find_rows(organization, kind, name)]
    if len(matches) > 1:
        raise UnknownGrantee(
            gettext("“{name}” is a role and a team. Write “Role: {name}” or “Team: {name}”.").format(name=name)
        )
    if not matches:
        raise UnknownGrantee(
            gettext("{organization} has no person, role or team “{name}”.").format(organization=organization, name=name)
        )
    return matches[0]


def _find_rows(organization: Organization, kind: str, name: str) -> list[Model]:
    if kind == "user":
        members = User.objects.filter(memberships__organization=organization)
        return list(members.filter(email=User.objects.normalize_email(name)))
    return list(_groups(organization, kind).filter(name=name))


def _groups(organization: Organization, kind: str) -> QuerySet[Role] | QuerySet[Team]:
    return organization.roles.all() if kind == "role" else organization.teams.all()
