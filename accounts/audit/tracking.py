"""Audit events of changes to model rows, written in the transaction of the change.

Each app names the models to track in its module `audited_events` (`rag/models/audited_events.py` for rag). Saves,
deletions, bulk operations and many-to-many changes of their rows are then recorded, whichever code makes
them.
"""

import uuid
from collections.abc import Collection, Iterable
from typing import Any, cast

from django.db import models, transaction
from django.db.models import signals

from .events import AuditAction
from .tracked_model import Row, TrackedModel, to_json, without_empty

_tracked: dict[type[models.Model], TrackedModel[models.Model]] = {}
# Tracked many-to-many fields, by their through model.
_many_to_many: dict[type[models.Model], "models.ManyToManyField[models.Model, models.Model]"] = {}


class TrackedModelMixin(models.Model):
    """Saves a row and its audit event in one transaction."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        with transaction.atomic(savepoint=False):
            super().save(*args, **kwargs)


class TrackedQuerySet(models.QuerySet[Row]):
    """Records bulk updates and bulk inserts, for which Django sends no signals."""

    def update(self, **values: object) -> int:
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
                tracked.record(AuditAction.CREATED, row, after=without_empty(tracked.values(row)))
        return rows


def is_tracked(model: type[models.Model]) -> bool:
    """Return whether every change of the model's rows is recorded."""
    return model in _tracked


def track(model: type[Row], tracked: TrackedModel[Row]) -> None:
    """Record every change of the model's rows from now on. Call it once, when the app is ready."""
    # Each entry is used with rows of its own model only.
    _tracked[model] = cast("TrackedModel[models.Model]", tracked)
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
        relation = model._meta.get_field(name)
        assert isinstance(relation, models.ManyToManyField)
        through = relation.remote_field.through
        assert through is not None, "a relation that is stored has a table"
        _many_to_many[through] = relation
        signals.m2m_changed.connect(_record_many_to_many, sender=through, dispatch_uid=f"audit {through._meta.label}")


def _remember_old_row(
    sender: type[models.Model], instance: models.Model, update_fields: Collection[str] | None = None, **_: object
) -> None:
    if not instance._state.adding and _tracked[sender].has_tracked_field(update_fields):
        old = sender._base_manager.filter(pk=instance.pk).first()
        # A credential that was never read has not changed. This one is read before it is written.
        written = set(_tracked[sender].redacted) - instance.get_deferred_fields()
        if update_fields is not None:
            written &= set(update_fields)
        redacted = _tracked[sender].redacted_values(old, sorted(written)) if old else {}
        instance.__dict__["_old_row"] = old, redacted


def _record_save(sender: type[models.Model], instance: models.Model, created: bool, **_: object) -> None:
    tracked = _tracked[sender]
    if created:
        tracked.record(AuditAction.CREATED, instance, after=without_empty(tracked.values(instance)))
    elif "_old_row" in instance.__dict__:
        old, redacted_before = instance.__dict__.pop("_old_row")
        tracked.record_change(old, instance, redacted_before)


def _read_related_rows(sender: type[models.Model], instance: models.Model, **_: object) -> None:
    """Read what the event of a deletion names. Its actor may not see it any more when all rows are deleted."""
    tracked = _tracked[sender]
    for read in (tracked.label, tracked.organization, tracked.find_subject, tracked.values):
        read(instance)


def _record_deletion(sender: type[models.Model], instance: models.Model, **_: object) -> None:
    tracked = _tracked[sender]
    if not tracked.is_already_recorded(instance):
        tracked.record(AuditAction.DELETED, instance, before=without_empty(tracked.values(instance)))


def _record_many_to_many(
    sender: type[models.Model],
    instance: models.Model,
    action: str,
    reverse: bool,
    pk_set: set[uuid.UUID] | None,
    **_: object,
) -> None:
    """Record a change of a many-to-many field.

    Django sends a `pre_…` and a `post_…` signal for each change, from the side of the relation that was changed.
    """
    relation = _many_to_many[sender]
    if action.startswith("pre_"):
        if not reverse:
            rows = [instance]
        elif pk_set is None:  # clear()
            rows = list(getattr(instance, str(relation.remote_field.get_accessor_name())).all())
        else:
            rows = list(relation.model._base_manager.filter(pk__in=pk_set))
        instance.__dict__["_old_names"] = [(row, _related_names(row, relation)) for row in rows]
        return
    for row, before in instance.__dict__.pop("_old_names", ()):
        if before != (after := _related_names(row, relation)):
            _tracked[relation.model].record(
                AuditAction.CHANGED, row, before={relation.name: before}, after={relation.name: after}
            )


def _related_names(row: models.Model, relation: "models.ManyToManyField[models.Model, models.Model]") -> list[str]:
    return sorted(str(to_json(related)) for related in getattr(row, relation.name).all())
