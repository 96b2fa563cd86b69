"""Decides which sources the explanation of a search may search, and records who asked for it.

The caller, who asks for the explanation, must manage a source. Both the caller and the user who searches must be
allowed to query it. Of the other managed sources only the access is explained: scores and counts would reveal what the
source contains.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from django.db import transaction

from accounts.audit import events
from accounts.audit.events import AuditAction, AuditObject
from accounts.models import User
from orgs.access.caller import Caller
from orgs.models import Organization
from rag.errors import NotAllowed
from rag.models import Action, DataSource
from rag.models.sources import DataSourceQuerySet
from rag.services.access.explain_access import Verdict, explain_access, find_person
from rag.services.sources import lookup

# Maximum number of sources whose access one explanation shows, and whose ids one audit event lists.
MAX_UNSEARCHED_SOURCES = 20
_MAX_RECORDED_SOURCES = 100


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """Who asks for the explanation of a search, and whose search it is.

    Attributes:
        caller: The caller who asks for the explanation; they must manage the sources.
        user_reference: Id or e-mail address of the user who searches; empty for the caller.
        organization: Only sources of this organisation, if the request names one.
        data_sources: Ids or slugs of sources that the caller manages; empty for all of them.
        document_id: The document whose outcome is explained; empty for none.
        may_query: Whether the caller's credential may be used to query.
    """

    caller: Caller
    user_reference: str = ""
    organization: Organization | None = None
    data_sources: Sequence[str] = ()
    document_id: str = ""
    may_query: bool = True


@dataclass(frozen=True, slots=True)
class UnsearchedSource:
    """A managed source that was not searched, and what the user may do with it.

    Attributes:
        caller_may_query: Whether the caller may query the source. If so, it was not searched because the user may not.
        access: What the access rule decides for the user.
    """

    source_id: uuid.UUID
    slug: str
    caller_may_query: bool
    access: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class TraceScope:
    """What may be explained.

    Attributes:
        user: The user who searches; None if the caller must not learn about this user.
        managed: The sources that the caller manages.
        searched: Those of them that both may query.
        unsearched: The others, at most MAX_UNSEARCHED_SOURCES; empty without a user.
    """

    user: User | None
    managed: DataSourceQuerySet
    searched: DataSourceQuerySet
    unsearched: tuple[UnsearchedSource, ...]


@transaction.atomic
def resolve_scope(request: TraceRequest) -> TraceScope:
    """Return what the request may explain, and record it in the audit trail.

    Raises:
        NotAllowed: If the caller manages no source, or does not manage a named one.
        UnknownSource: If a named source is not visible to the caller.
    """
    managed = _managed_sources(request)
    user = _find_searching_user(request, managed)
    queryable = DataSource.objects.visible_to(request.caller, Action.QUERY) if request.may_query else managed.none()
    searched = managed.filter(pk__in=queryable.values("pk"))
    if user is None:
        searched = searched.none()
    else:
        searched = searched.filter(pk__in=DataSource.objects.visible_to(Caller(user), Action.QUERY).values("pk"))
    _record(request, user, managed, searched)
    return TraceScope(user, managed, searched, _unsearched_sources(user, managed, queryable, searched))


def _managed_sources(request: TraceRequest) -> DataSourceQuerySet:
    """Return the named sources that the caller manages, or all of them if the request names none."""
    managed = lookup.visible_sources(request.caller, Action.MANAGE, organization=request.organization)
    if request.data_sources:
        source_ids = [
            lookup.get_source_to_manage(
                request.caller, reference, organization=request.organization, denied_message=lookup.MAY_NOT_EXPLAIN
            ).pk
            for reference in dict.fromkeys(request.data_sources)
        ]
        managed = managed.filter(pk__in=source_ids)
    if not managed.exists():
        raise NotAllowed(lookup.MANAGES_NOTHING)
    return managed


def _find_searching_user(request: TraceRequest, managed: DataSourceQuerySet) -> User | None:
    """Return the user whose search is explained; None if the caller must not learn about this user."""
    if not request.user_reference:  # the caller, with all their permissions, even if their API key has fewer
        return User.objects.filter(pk=request.caller.authenticated_user.pk).first()
    return find_person(request.user_reference, managed.values("organization"), caller=request.caller)


def _unsearched_sources(
    user: User | None, managed: DataSourceQuerySet, queryable: DataSourceQuerySet, searched: DataSourceQuerySet
) -> tuple[UnsearchedSource, ...]:
    if user is None:
        return ()
    sources = managed.exclude(pk__in=searched.values("pk"))
    sources = sources.select_related("organization", "owner")
    shown = list(sources.order_by("pk")[:MAX_UNSEARCHED_SOURCES])
    queryable_ids = set(queryable.filter(pk__in=[source.pk for source in shown]).values_list("pk", flat=True))
    return tuple(
        UnsearchedSource(source.pk, source.slug, source.pk in queryable_ids, explain_access(source, user))
        for source in shown
    )


def _record(
    request: TraceRequest, user: User | None, managed: DataSourceQuerySet, searched: DataSourceQuerySet
) -> None:
    """Add one event per organisation, without the question. A user who is not a member is not named."""
    searched_ids = set(searched.values_list("pk", flat=True))
    sources = managed.select_related("organization").order_by("organization_id", "pk")
    for _, of_organization in groupby(sources, key=lambda source: source.organization_id):
        explained = list(of_organization)
        only = explained[0] if len(explained) == 1 else None
        ids = [str(source.pk) for source in explained]
        details: dict[str, object] = {"searched": sum(source.pk in searched_ids for source in explained)}
        if not only:
            details |= {"count": len(ids), "sources": ids[:_MAX_RECORDED_SOURCES]}
        events.record(
            AuditAction.EXPLAINED,
            AuditObject.SOURCE,
            object_id=only.pk if only else "",
            label=only.slug if only else "",
            organization=explained[0].organization,
            subject=user,
            actor=request.caller.authenticated_user,
            after=details,
        )
