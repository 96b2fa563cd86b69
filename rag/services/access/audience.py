"""Says in one sentence who can query a data source, and why, for the people who manage it."""

from dataclasses import dataclass

from django.db.models import Exists, F, OuterRef, Q

from orgs.access.permissions import Visibility
from rag.models import DataSource, Grant

_MAX_NAMES = 5
NOBODY_YET = "nobody yet"


@dataclass(frozen=True, slots=True)
class Audience:
    """Who can query a source.

    Attributes:
        is_empty: Nobody can, because nobody is chosen.
        sentence: Who can, and which rule decides it.
    """

    is_empty: bool
    sentence: str


def has_audience() -> Q:
    """Return the condition of a queryset of sources: somebody is chosen, where the visibility needs it."""
    grants = Grant.objects.unexpired().filter(source=OuterRef("pk"))
    organization = F("source__organization")
    return (
        Q(visibility=Visibility.PUBLIC)
        | Q(visibility=Visibility.PERSONAL, owner__isnull=False)
        | (Q(visibility=Visibility.PRIVATE) & Q(Exists(grants.filter(user__isnull=False))))
        | (Q(visibility=Visibility.ROLE) & Q(Exists(grants.filter(role__organization=organization))))
        | (Q(visibility=Visibility.TEAM) & Q(Exists(grants.filter(team__organization=organization))))
    )


def describe_audience(source: DataSource) -> Audience:
    """Return who can query the source now, and why."""
    match source.visibility:
        case Visibility.PUBLIC:
            who = f"Every member of {source.organization} can query this source"
            return Audience(False, f"{who}, because its visibility is “public”.")
        case Visibility.PERSONAL:
            return _personal(source)
    names, visibility = _granted_names(source), f"its visibility is “{source.visibility}”"
    match source.visibility:
        case Visibility.PRIVATE:
            kind, who = "people", "{}"
        case Visibility.ROLE:
            kind, who = "roles", "Members with the role {}"
        case _:
            kind, who = "teams", "Members of the team {}"
    if not names:
        return Audience(True, f"Nobody can query this source yet: {visibility}, and no {kind} are chosen below.")
    shown = ", ".join(names[:_MAX_NAMES]) + (" and others" if len(names) > _MAX_NAMES else "")
    sentence = f"{who.format(shown)} can query this source, because {visibility} and they are chosen below."
    return Audience(False, sentence)


def _personal(source: DataSource) -> Audience:
    if source.owner is None:
        return Audience(True, "Nobody can query this source yet: its visibility is “personal”, and it has no owner.")
    return Audience(
        False, f"Only {source.owner} can query this source, because its visibility is “personal” and they own it."
    )


def _granted_names(source: DataSource) -> list[str]:
    """Return the names of the unexpired grants that count for the visibility, at most one more than are shown."""
    grants = Grant.objects.unexpired().filter(source=source)
    match source.visibility:
        case Visibility.PRIVATE:
            names = grants.filter(user__isnull=False).order_by("user__email").values_list("user__email", flat=True)
        case Visibility.ROLE:
            names = grants.filter(role__organization=source.organization_id).values_list("role__name", flat=True)
        case _:
            names = grants.filter(team__organization=source.organization_id).values_list("team__name", flat=True)
    return sorted(str(name) for name in names[: _MAX_NAMES + 1])
