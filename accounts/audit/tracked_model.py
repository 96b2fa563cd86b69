"""What the audit trail records of the rows of a model."""

import datetime
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypedDict, TypeVar, Unpack

from django.core.exceptions import ObjectDoesNotExist
from django.db import models

from ragsite.postgres import identity

from . import events
from .events import AuditAction, AuditObject, NamedRow
from .request_context import Person

Row = TypeVar("Row", bound=models.Model)


def _none(row: models.Model) -> None:
    return None


def _never(row: models.Model) -> bool:
    return False


class Details(TypedDict, total=False):
    """What an event says beside the row that it is about, as `events.record` takes it."""

    before: Mapping[str, object]
    after: Mapping[str, object]
    subject_email: str


@dataclass(frozen=True)  # no slots: generic dataclasses with both fail in `__setattr__` on Python 3.11
class TrackedModel(Generic[Row]):
    """What the audit trail records about the rows of a model.

    Attributes:
        fields: Fields whose old and new values are recorded.
        redacted: Fields whose change is recorded without their values.
        end_actions: Fields that are set when a row ends without being deleted, with the action to record then.
        organization: The organisation that a row belongs to.
        label: The label of a row in the audit trail.
        subject: The person that a row is about.
        is_already_recorded: Whether the end of a row was recorded before the row is deleted.
        comparable: What stands for the value of a redacted field when two states of a row are compared.
    """

    kind: AuditObject
    fields: Sequence[str]
    redacted: Sequence[str] = ()
    end_actions: Mapping[str, AuditAction] = field(default_factory=dict)
    organization: Callable[[Row], NamedRow | None] = _none
    label: Callable[[Row], str] = str
    subject: Callable[[Row], Person | None] = _none
    is_already_recorded: Callable[[Row], bool] = _never
    comparable: Callable[[Row, str], object] = getattr

    def has_tracked_field(self, names: Iterable[str] | None) -> bool:
        """Return whether one of these fields is tracked. None stands for all fields of the model."""
        tracked = {*self.fields, *self.redacted, *self.end_actions}
        return names is None or any(name in tracked or name.removesuffix("_id") in tracked for name in names)

    def values(self, row: Row) -> dict[str, object]:
        """Return the recorded fields of a row, as JSON values."""
        return {name: to_json(_value(row, name)) for name in self.fields}

    def find_subject(self, row: Row) -> Person | None:
        """Return the person that a row is about, even if they have left, so that the actor does not see them."""
        try:
            return self.subject(row)
        except ObjectDoesNotExist:
            with identity.run_as(identity.STAFF):
                return self.subject(row)

    def record(self, action: AuditAction, row: Row, **details: Unpack[Details]) -> None:
        """Record an event about a row."""
        events.record(
            action,
            self.kind,
            object_id=row.pk,
            label=self.label(row),
            organization=self.organization(row),
            subject=self.find_subject(row),
            **details,
        )

    def redacted_values(self, row: Row, names: Iterable[str]) -> dict[str, object]:
        """Return what stands for the values of those of these fields that are redacted."""
        return {name: self.comparable(row, name) for name in names if name in self.redacted}

    def record_change(self, old: Row | None, new: Row, redacted_before: Mapping[str, object]) -> None:
        """Record what changed between two states of a row, if anything did.

        Args:
            old: The row before the change. None if the database identity may not read it.
            new: The row after the change.
            redacted_before: What stood for the values of the redacted fields that were written.
        """
        if old is None:
            self.record(AuditAction.CHANGED, new, after=without_empty(self.values(new)))
            return
        before, after = self.values(old), self.values(new)
        changed = [name for name in self.fields if before[name] != after[name]]
        redacted = [name for name, value in redacted_before.items() if value != self.comparable(new, name)]
        end_actions = [
            action for name, action in self.end_actions.items() if getattr(old, name) is None and getattr(new, name)
        ]
        if changed or redacted or end_actions:
            old_subject = self.find_subject(old)
            self.record(
                end_actions[0] if end_actions else AuditAction.CHANGED,
                new,
                before={name: before[name] for name in changed},
                after={**{name: after[name] for name in changed}, **dict.fromkeys(redacted, "changed")},
                subject_email=old_subject.email if old_subject else "",
            )


def to_json(value: object) -> object:
    """Return a field's value as JSON. People are ids: the audit trail names them in its own columns only."""
    if isinstance(value, models.Model):
        return str(getattr(value, "name", value.pk))
    if isinstance(value, datetime.datetime):
        return value.isoformat(timespec="seconds")
    if isinstance(value, uuid.UUID):
        return str(value)
    return [to_json(item) for item in value] if isinstance(value, list | tuple) else value


def _value(row: models.Model, name: str) -> object:
    """Return a field's value; of a person only the id, because the actor may not see everybody whom a row names."""
    field = row._meta.get_field(name)
    if isinstance(field, models.ForeignKey) and hasattr(field.related_model, "email"):
        name = field.attname
    return getattr(row, name)


def without_empty(values: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if value not in (None, "", [])}
