"""Audit events of changes to model rows, written in the transaction of the change.

Each app names the models to track in its module `audited_events` (`rag/models/audited_events.py` for rag). Saves,
deletions, bulk operations and many-to-many changes of their rows are then recorded, whichever code makes
them.
"""

import datetime
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from django.core.exceptions import ObjectDoesNotExist
from django.db import models, transaction
from django.db.models import signals

from ragsite.postgres import identity

from . import events
from .events import AuditAction, AuditObject, NamedRow
from .request_context import Person

Row = TypeVar("Row", bound=models.Model)


def _none(row: models.Model) -> None:
    return None


def _never(row: models.Model) -> bool:
    return False


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

    def record(self, action: AuditAction, row: Row, **details: Any) -> None:
        """Record an event about a row. `details` go to `events.record`."""
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
            self.record(AuditAction.CHANGED, new, after=_without_empty(self.values(new)))
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


_tracked: dict[type[models.Model], TrackedModel[Any]] = {}
# Tracked many-to-many fields, by their through model.
_many_to_many: dict[type[models.Model], Any] = {}


class TrackedModelMixin(models.Model):
    """Saves a row and its audit event in one transaction."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        with transaction.atomic(savepoint=False):
            super().save(*args, **kwargs)


class TrackedQuerySet(models.QuerySet[Row]):
    """Records bulk updates and bulk inserts, for which Django sends no signals."""

    def update(self, **values: Any) -> int:
        tracked = _tracked.get(self.model)
        if tracked is None or not tracked.has_tracked_field(values):
            return super().update(**values)
        with transaction.atomic():
            rows = self.model._base_manager.select_for_update(no_key=True)
            before = {row.pk: row for row in rows.filter(pk__in=list(self.values_list("pk", flat=True)))}
            redacted = {pk: tracked.redacted_values(row, values) for pk, row in before.items()}
            count = super().update(**values)
            for row in self.model._base_manager.filter(pk__in=list(before)):
                tracked.record_change(before[row.pk], row, redacted[row.pk])
        return count

    def bulk_create(self, objs: Iterable[Row], *args: Any, **kwargs: Any) -> list[Row]:
        tracked = _tracked.get(self.model)
        if tracked is None:
            return super().bulk_create(objs, *args, **kwargs)
        with transaction.atomic():
            rows = super().bulk_create(objs, *args, **kwargs)
            for row in rows:
                tracked.record(AuditAction.CREATED, row, after=_without_empty(tracked.values(row)))
        return rows


def is_tracked(model: type[models.Model]) -> bool:
    """Return whether every change of the model's rows is recorded."""
    return model in _tracked


def track(model: type[Row], tracked: TrackedModel[Row]) -> None:
    """Record every change of the model's rows from now on. Call it once, when the app is ready."""
    _tracked[model] = tracked
    for signal, receiver in (
        (signals.pre_save, _remember_old_row),
        (signals.post_save, _record_save),
        (signals.pre_delete, _read_related_rows),
        (signals.post_delete, _record_deletion),
    ):
        signal.connect(receiver, sender=model, dispatch_uid=f"audit {model._meta.label} {receiver.__name__}")


def track_many_to_many(model: type[models.Model], *names: str) -> None:
    """Record changes of these many-to-many fields of a tracked model, as lists of names."""
    for name in names:
        relation: Any = model._meta.get_field(name)
        through = relation.remote_field.through
        _many_to_many[through] = relation
        signals.m2m_changed.connect(_record_many_to_many, sender=through, dispatch_uid=f"audit {through._meta.label}")


def to_json(value: Any) -> Any:
    """Return a field's value as JSON. People are ids: the audit trail names them in its own columns only."""
    if isinstance(value, models.Model):
        return str(getattr(value, "name", value.pk))
    if isinstance(value, datetime.datetime):
        return value.isoformat(timespec="seconds")
    if isinstance(value, uuid.UUID):
        return str(value)
    return [to_json(item) for item in value] if isinstance(value, list | tuple) else value


def _value(row: models.Model, name: str) -> Any:
    """Return a field's value; of a person only the id, because the actor may not see everybody whom a row names."""
    field: Any = row._meta.get_field(name)
    is_person = field.is_relation and hasattr(field.related_model, "email")
    return getattr(row, field.attname if is_person else name)


def _without_empty(values: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if value not in (None, "", [])}


def _remember_old_row(sender: type[models.Model], instance: Any, update_fields: Any = None, **_: object) -> None:
    if not instance._state.adding and _tracked[sender].has_tracked_field(update_fields):
        old = sender._base_manager.filter(pk=instance.pk).first()
        # A credential that was never read has not changed. This one is read before it is written.
        written = set(_tracked[sender].redacted) - instance.get_deferred_fields()
        if update_fields is not None:
            written &= set(update_fields)
        instance._old_row = old, _tracked[sender].redacted_values(old, sorted(written)) if old else {}


def _record_save(sender: type[models.Model], instance: Any, created: bool, **_: object) -> None:
    tracked = _tracked[sender]
    if created:
        tracked.record(AuditAction.CREATED, instance, after=_without_empty(tracked.values(instance)))
    elif "_old_row" in instance.__dict__:
        old, redacted_before = instance.__dict__.pop("_old_row")
        tracked.record_change(old, instance, redacted_before)


def _read_related_rows(sender: type[models.Model], instance: Any, **_: object) -> None:
    """Read what the event of a deletion names. Its actor may not see it any more when all rows are deleted."""
    tracked = _tracked[sender]
    for read in (tracked.label, tracked.organization, tracked.find_subject, tracked.values):
        read(instance)


def _record_deletion(sender: type[models.Model], instance: Any, **_: object) -> None:
    tracked = _tracked[sender]
    if not tracked.is_already_recorded(instance):
        tracked.record(AuditAction.DELETED, instance, before=_without_empty(tracked.values(instance)))


def _record_many_to_many(
    sender: type[models.Model], instance: Any, action: str, reverse: bool, pk_set: set[Any] | None, **_: object
) -> None:
    """Record a change of a many-to-many field.

    Django sends a `pre_…` and a `post_…` signal for each change, from the side of the relation that was changed.
    """
    relation = _many_to_many[sender]
    if action.startswith("pre_"):
        if not reverse:
            rows = [instance]
        elif pk_set is None:  # clear()
            rows = list(getattr(instance, relation.remote_field.get_accessor_name()).all())
        else:
            rows = list(relation.model._base_manager.filter(pk__in=pk_set))
        instance._old_names = [(row, _related_names(row, relation)) for row in rows]
        return
    for row, before in instance.__dict__.pop("_old_names", ()):
        if before != (after := _related_names(row, relation)):
            changed = {"before": {relation.name: before}, "after": {relation.name: after}}
            _tracked[relation.model].record(AuditAction.CHANGED, row, **changed)


def _related_names(row: models.Model, relation: Any) -> list[str]:
    return sorted(to_json(related) for related in getattr(row, relation.name).all())
