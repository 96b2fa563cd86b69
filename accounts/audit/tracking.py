"""Changes that write their own audit events: of single rows, of many at once, and of who belongs to what.

An app says in its `trail` module what is watched. Nobody who changes such a row can forget to say so.
"""

import datetime
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.db import models, transaction
from django.db.models import signals

from . import events
from .events import Act, Kind

Row = TypeVar("Row", bound=models.Model)


def _nobody(row: Any) -> Any:
    return None


def _never(row: Any) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Watch:
    """fields: whose changes are told, with what they were and are. untold: told as changed, without their values.

    ends: fields that are set when a row comes to its end without going, and what that is called. organization, label,
    subject: of a row. unless: rows whose end was told already.
    """

    kind: Kind
    fields: Sequence[str]
    untold: Sequence[str] = ()
    ends: Mapping[str, Act] = field(default_factory=dict)
    organization: Callable[[Any], Any] = _nobody
    label: Callable[[Any], str] = str
    subject: Callable[[Any], Any] = _nobody
    unless: Callable[[Any], bool] = _never

    def touches(self, names: Iterable[str] | None) -> bool:
        """names: of the fields that are written; None for all."""
        watched = {*self.fields, *self.untold, *self.ends}
        return names is None or any(name in watched or name.removesuffix("_id") in watched for name in names)

    def values(self, row: Any) -> dict[str, Any]:
        return {name: told(getattr(row, name)) for name in self.fields}

    def record(self, action: Act, row: Any, **details: Any) -> None:
        events.record(
            action,
            self.kind,
            object_id=row.pk,
            label=self.label(row),
            organization=self.organization(row),
            subject=self.subject(row),
            **details,
        )

    def compare(self, old: Any, new: Any) -> None:
        """old: None if whoever changes the row may not read it as it was."""
        if old is None:
            self.record(Act.CHANGED, new, after=_set(self.values(new)))
            return
        before, after = self.values(old), self.values(new)
        changed = [name for name in self.fields if before[name] != after[name]]
        hidden = [name for name in self.untold if getattr(old, name) != getattr(new, name)]
        ended = [act for name, act in self.ends.items() if getattr(old, name) is None and getattr(new, name)]
        if changed or hidden or ended:
            earlier = self.subject(old)
            self.record(
                ended[0] if ended else Act.CHANGED,
                new,
                before={name: before[name] for name in changed},
                after={**{name: after[name] for name in changed}, **dict.fromkeys(hidden, "changed")},
                subject_email=earlier.email if earlier else "",
            )


_watched: dict[type[models.Model], Watch] = {}
# Many-to-many fields, by the model in between.
_lists: dict[type[models.Model], Any] = {}


class Watched(models.Model):
    """A row and the event of its change are written together, or neither is."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        with transaction.atomic(savepoint=False):
            super().save(*args, **kwargs)


class WatchedQuerySet(models.QuerySet[Row]):
    """Many rows at once are watched, too."""

    def update(self, **values: Any) -> int:
        watch = _watched.get(self.model)
        if watch is None or not watch.touches(values):
            return super().update(**values)
        with transaction.atomic():
            rows = self.model._base_manager.select_for_update(no_key=True)
            before = {row.pk: row for row in rows.filter(pk__in=list(self.values_list("pk", flat=True)))}
            number = super().update(**values)
            for row in self.model._base_manager.filter(pk__in=list(before)):
                watch.compare(before[row.pk], row)
        return number

    def bulk_create(self, objs: Iterable[Row], *args: Any, **kwargs: Any) -> list[Row]:
        watch = _watched.get(self.model)
        if watch is None:
            return super().bulk_create(objs, *args, **kwargs)
        with transaction.atomic():
            made = super().bulk_create(objs, *args, **kwargs)
            for row in made:
                watch.record(Act.CREATED, row, after=_set(watch.values(row)))
        return made


def watch(model: type[models.Model], watch: Watch) -> None:
    """From now on every change of its rows is an event."""
    _watched[model] = watch
    for signal, receiver in (
        (signals.pre_save, _remember),
        (signals.post_save, _saved),
        (signals.post_delete, _deleted),
    ):
        signal.connect(receiver, sender=model, dispatch_uid=f"watch {model._meta.label} {receiver.__name__}")


def watch_lists(model: type[models.Model], *names: str) -> None:
    """The same for many-to-many fields of a model that is watched: each is told as a list of names."""
    for name in names:
        many: Any = model._meta.get_field(name)
        through = many.remote_field.through
        _lists[through] = many
        signals.m2m_changed.connect(_list_changed, sender=through, dispatch_uid=f"watch {through._meta.label}")


def told(value: Any) -> Any:
    """A value as JSON. A person is an id here: see accounts.audit.events."""
    if isinstance(value, models.Model):
        return str(value.pk) if hasattr(value, "email") else str(getattr(value, "name", value.pk))
    if isinstance(value, datetime.datetime):
        return value.isoformat(timespec="seconds")
    if isinstance(value, uuid.UUID):
        return str(value)
    return [told(each) for each in value] if isinstance(value, list | tuple) else value


def _set(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, "", [])}


def _remember(sender: type[models.Model], instance: Any, update_fields: Any = None, **_: Any) -> None:
    if not instance._state.adding and _watched[sender].touches(update_fields):
        instance._as_it_was = sender._base_manager.filter(pk=instance.pk).first()


def _saved(sender: type[models.Model], instance: Any, created: bool, **_: Any) -> None:
    watch = _watched[sender]
    if created:
        watch.record(Act.CREATED, instance, after=_set(watch.values(instance)))
    elif "_as_it_was" in instance.__dict__:
        watch.compare(instance.__dict__.pop("_as_it_was"), instance)


def _deleted(sender: type[models.Model], instance: Any, **_: Any) -> None:
    watch = _watched[sender]
    if not watch.unless(instance):
        watch.record(Act.DELETED, instance, before=_set(watch.values(instance)))


def _list_changed(
    sender: type[models.Model], instance: Any, action: str, reverse: bool, pk_set: set[Any] | None, **_: Any
) -> None:
    """Django tells before and after each change, from the side on which it is made."""
    many = _lists[sender]
    if action.startswith("pre_"):
        if not reverse:
            rows = [instance]
        elif pk_set is None:  # clear()
            rows = list(getattr(instance, many.remote_field.get_accessor_name()).all())
        else:
            rows = list(many.model._base_manager.filter(pk__in=pk_set))
        instance._lists_as_they_were = [(row, _names(row, many)) for row in rows]
        return
    for row, before in instance.__dict__.pop("_lists_as_they_were", ()):
        if before != (after := _names(row, many)):
            changed = {"before": {many.name: before}, "after": {many.name: after}}
            _watched[many.model].record(Act.CHANGED, row, **changed)


def _names(row: Any, many: Any) -> list[str]:
    return sorted(told(each) for each in getattr(row, many.name).all())
