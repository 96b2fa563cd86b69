"""Explains who may do what with a data source, and why, in sentences for the people who manage it.

The access rule itself (`visible_to`) gives the verdict. The reason is derived here and in `access_reasons`. A test
proves that both agree.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog
from django.db.models import Q, QuerySet
from django.utils.translation import gettext, gettext_noop, pgettext_lazy

from accounts.models import User
from orgs.access.caller import Caller
from orgs.access.effective_permissions import effective_permissions
from orgs.access.permissions import Permission
from orgs.models import Membership, Organization
from rag.errors import NotAllowed
from rag.models import Action, DataSource
from ragsite.postgres.models import as_uuid

from .access_reasons import Decision, MemberAccess, allowed, denied

logger = structlog.get_logger(__name__)

ACTIONS = (Action.QUERY, Action.INGEST, Action.MANAGE)
# In English the values, which the contract names.
_ACTION_LABELS = {
    Action.QUERY: pgettext_lazy("action", "query"),
    Action.INGEST: pgettext_lazy("action", "ingest"),
    Action.MANAGE: pgettext_lazy("action", "manage"),
    Action.VIEW: pgettext_lazy("action", "view"),
}
NOT_A_MEMBER = gettext_noop("this person is not a member of the organisation")
_MAY_NOT_EXPLAIN_OTHERS = (
    "You need the permission sources.manage in this organisation to see what other people may do with its data sources."
)
_CHANGING = gettext_noop("access is being changed at this moment; ask again")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether one action is allowed.

    Attributes:
        reason: One sentence that says what is allowed or not, and which rule decides it.
    """

    action: Action
    is_allowed: bool
    reason: str

    @property
    def action_label(self) -> str:
        """The name of the action for people, in the language of the request."""
        return str(_ACTION_LABELS[self.action])


def explain_access(source: DataSource, person: User | None) -> tuple[Verdict, ...]:
    """Return what the access rule decides now for each action, and why.

    Args:
        source: The data source.
        person: The user whose access is explained. None stands for somebody the caller must not learn about.
    """
    return tuple(_explain_action(source, person, action) for action in ACTIONS)


def find_person(reference: str, organizations: Iterable[UUID] | QuerySet[Any], *, caller: Caller) -> User | None:
    """Return the member of one of the organisations with this id or e-mail address; None if nobody has it.

    Members of other organisations are not found: a manager must not learn which addresses have an account. Superusers
    find everybody. Who manages sources only as their owner finds only themselves: an explanation names the roles and
    teams of a member.

    Raises:
        NotAllowed: If the caller asks about somebody else, and has the permission sources.manage in none of the
            organisations.
    """
    user_id = as_uuid(reference)
    people = User.objects.filter(Q(pk=user_id) if user_id else Q(email=User.objects.normalize_email(reference)))
    if not (
        caller.user.is_superuser and User.objects.filter(pk=caller.user.pk, is_active=True, is_superuser=True).exists()
    ):
        if caller.user.pk and people.filter(pk=caller.user.pk).exists():
            return people.first()
        managed = set(effective_permissions(caller).organizations_with(Permission.SOURCES_MANAGE))
        explained = Organization.objects.filter(pk__in=organizations).filter(pk__in=managed)
        if not explained.exists():
            raise NotAllowed(_MAY_NOT_EXPLAIN_OTHERS)
        people = people.filter(pk__in=Membership.objects.filter(organization__in=explained).values("user"))
    return people.first()


def _explain_action(source: DataSource, person: User | None, action: Action) -> Verdict:
    sources = DataSource.objects.filter(pk=source.pk)
    is_allowed = person is not None and sources.visible_to(Caller(person), action).exists()
    decision = _decide(source, person, action)
    if decision.is_allowed != is_allowed:  # rows were changed in between, or the reasons below miss a rule
        logger.warning("access_reason_disagrees", source=str(source.pk), action=action.value, allowed=is_allowed)
        decision = Decision(is_allowed=is_allowed, reason=gettext(_CHANGING))
    text = gettext("May {action}: {reason}.") if is_allowed else gettext("May not {action}: {reason}.")
    return Verdict(action, is_allowed, text.format(action=_ACTION_LABELS[action], reason=decision.reason))


def _decide(source: DataSource, person: User | None, action: Action) -> Decision:
    """Derive from the stored data whether the action is allowed, and the reason."""
    if person is None:
        return denied(gettext(NOT_A_MEMBER))
    if source.deleted_at is not None:
        return denied(gettext("the source is deleted"))
    if not source.organization.is_active:
        return denied(gettext("the organisation {organization} is closed").format(organization=source.organization))
    if not person.is_active:
        return denied(gettext("the account of {person} is deactivated").format(person=person))
    if action is Action.MANAGE and person.is_superuser:
        return allowed(gettext("{person} is a superuser, and manages every source").format(person=person))
    membership = Membership.objects.filter(user=person, organization=source.organization_id).first()
    if membership is None:
        return denied(gettext(NOT_A_MEMBER))
    case = MemberAccess(source, person, membership, effective_permissions(Caller(person)))
    if source.organization_id not in case.permissions.organizations:
        return denied(gettext("the membership of {person} is inactive").format(person=person))
    return case.decide(action)
