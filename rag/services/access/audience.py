"""Says in one sentence who can query a data source, and why, for the people who manage it."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Count, F, Min, Q, TextField
from django.db.models.functions import Coalesce
from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from orgs.access.permissions import Visibility
from rag.models import DataSource, Grant

_MAX_NAMES = 5
_GRANTEE = Coalesce("user__email", "role__name", "team__name", output_field=TextField())
NOBODY_YET = _("nobody yet")


class _Texts(NamedTuple):
    """What describes a source that is open to chosen people, roles or teams."""

    chosen: Promise
    nobody: Promise


_TEXTS = {
    Visibility.PRIVATE: _Texts(
        _("{names} can query this source, because its visibility is “private” and they are chosen below."),
        _("Nobody can query this source yet: its visibility is “private”, and no people are chosen below."),
    ),
    Visibility.ROLE: _Texts(
        _(
            "Members with the role {names} can query this source, because its visibility is “role” and they are "
            "chosen below."
        ),
        _("Nobody can query this source yet: its visibility is “role”, and no roles are chosen below."),
    ),
    Visibility.TEAM: _Texts(
        _(
            "Members of the team {names} can query this source, because its visibility is “team” and they are "
            "chosen below."
        ),
        _("Nobody can query this source yet: its visibility is “team”, and no teams are chosen below."),
    ),
}


@dataclass(frozen=True, slots=True)
class Audience:
    """Who can query a source.

    Attributes:
        is_empty: Nobody can, because nobody is chosen.
        sentence: Who can, and which rule decides it.
    """

    is_empty: bool
    sentence: str


def summarize_audiences(sources: Sequence[DataSource]) -> dict[uuid.UUID, str]:
    """Return the id of each data source → who can query it now, in a few words. It takes one query."""
    organization = F("source__organization")
    counting = (
        Q(source__visibility=Visibility.PRIVATE, user__isnull=False)
        | Q(source__visibility=Visibility.ROLE, role__organization=organization)
        | Q(source__visibility=Visibility.TEAM, team__organization=organization)
    )
    grants = Grant.objects.unexpired().filter(counting, source__in=[source.pk for source in sources])
    granted = {
        source: (number, name)
        for source, number, name in grants.order_by()
        .values("source")
        .annotate(number=Count("pk"), name=Min(_GRANTEE))
        .values_list("source", "number", "name")
    }
    return {source.pk: _summarize(source, *granted.get(source.pk, (0, ""))) for source in sources}


def _summarize(source: DataSource, number: int, name: str) -> str:
    """Say in a few words who may query a data source.

    Args:
        source: The data source.
        number: The number of its grants that have an effect.
        name: The person, role or team of one of these grants.
    """
    match source.visibility:
        case Visibility.PUBLIC:
            return gettext("all members")
        case Visibility.PERSONAL:
            return gettext("only its owner") if source.owner_id else str(NOBODY_YET)
    if not number:
        return str(NOBODY_YET)
    match source.visibility:
        case Visibility.ROLE:
            text = ngettext("role {name}", "{number} roles", number)
        case Visibility.TEAM:
            text = ngettext("team {name}", "{number} teams", number)
        case _:
            text = ngettext("{name}", "{number} people", number)
    return text.format(name=name, number=number)


def describe_audience(source: DataSource) -> Audience:
    """Return who can query the source now, and why."""
    match source.visibility:
        case Visibility.PUBLIC:
            text = gettext("Every member of {organization} can query this source, because its visibility is “public”.")
            return Audience(is_empty=False, sentence=text.format(organization=source.organization))
        case Visibility.PERSONAL:
            return _personal(source)
    texts, names = _TEXTS[Visibility(source.visibility)], _granted_names(source)
    if not names:
        return Audience(is_empty=True, sentence=str(texts.nobody))
    shown = ", ".join(names[:_MAX_NAMES]) + (gettext(" and others") if len(names) > _MAX_NAMES else "")
    return Audience(is_empty=False, sentence=str(texts.chosen).format(names=shown))


def _personal(source: DataSource) -> Audience:
    if source.owner is None:
        return Audience(
            is_empty=True,
            sentence=gettext("Nobody can query this source yet: its visibility is “personal”, and it has no owner."),
        )
    return Audience(
        is_empty=False,
        sentence=gettext(
            "Only {owner} can query this source, because its visibility is “personal” and they own it."
        ).format(owner=source.owner),
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
