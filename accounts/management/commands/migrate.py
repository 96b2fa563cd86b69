"""manage.py migrate: Django's command with fewer checks, and on an empty database with few renderings of models.

Django renders a model (it makes the class of a model from its description in the migrations) again together with all
models that are related to it, for each new model, field and index. The statements do not depend on it: a model can be
rendered alone, unless others refer to the changed field, and an index is one more entry of a list.
"""

import contextlib
from collections.abc import Iterator
from typing import Any, TypeAlias

from django.core.checks import Tags
from django.core.checks.registry import registry
from django.core.management.commands import migrate
from django.db import connections, models
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ModelState, ProjectState

# Of the methods that are replaced here, and of what they read, Django's stubs know nothing.
_STATE: Any = ProjectState
_find_related = _STATE._find_reload_model

Option: TypeAlias = models.Index | models.BaseConstraint


class Command(migrate.Command):
    def get_check_kwargs(self, options: dict[str, object]) -> Any:
        """Leave out what only the code decides: addresses, templates and middleware, whose checks import all pages."""
        tags = registry.tags_available() - {Tags.urls, Tags.templates, Tags.admin}
        return {"tags": sorted(tags), "databases": [options["database"]]}

    def handle(self, *args: Any, **options: Any) -> str | None:
        with few_renderings() if self._is_database_empty(options["database"]) else contextlib.nullcontext():
            return super().handle(*args, **options)

    @staticmethod
    def _is_database_empty(alias: str) -> bool:
        """Return whether nothing is migrated. An upgrade is Django's own: it has data, and few migrations."""
        return not MigrationRecorder(connections[alias]).applied_migrations()


@contextlib.contextmanager
def few_renderings() -> Iterator[None]:
    """Migrate forwards in this block."""
    replacements = {
        "add_model": _add_model,
        "add_field": _add_field,
        "_append_option": _append_option,
        "_remove_option": _remove_option,
        "_find_reload_model": _find_reload_model,
    }
    originals = {name: getattr(_STATE, name) for name in replacements}
    try:
        for name, replacement in replacements.items():
            setattr(ProjectState, name, replacement)
        yield
    finally:
        for name, original in originals.items():
            setattr(ProjectState, name, original)


def _add_model(state: Any, model_state: ModelState) -> None:
    key = (model_state.app_label, model_state.name_lower)
    state.models[key] = model_state
    if state._relations is not None:
        state.resolve_model_relations(key)
    if "apps" in state.__dict__:
        state.apps.render_multiple([model_state])


def _add_field(
    state: Any,
    app_label: str,
    model_name: str,
    name: str,
    field: "models.Field[object, object]",
    preserve_default: bool,
) -> None:
    if not preserve_default:
        field = field.clone()
        field.default = models.NOT_PROVIDED
    state.models[app_label, model_name].fields[name] = field
    if state._relations is not None:
        state.resolve_model_field_relations((app_label, model_name), name, field)
    state.reload_model(app_label, model_name, delay=True)


def _find_reload_model(state: Any, app_label: str, model_name: str, delay: bool = False) -> Any:
    """Return which models to render again: with `delay` the changed one alone, otherwise those that Django finds.

    Django passes `delay` where no relation depends on the change. Related models then refer to a class that is out of
    date until Django renders all models anew, which it does before an operation runs Python code with models.
    """
    if not delay:
        return _find_related(state, app_label, model_name)
    state.is_delayed = True
    return {(app_label, model_name)}


def _append_option(state: Any, app_label: str, model_name: str, option_name: str, entry: Option) -> None:
    entries = state.models[app_label, model_name].options[option_name]
    _set_option(state, app_label, model_name, option_name, [*entries, entry])


def _remove_option(state: Any, app_label: str, model_name: str, option_name: str, name: str) -> None:
    entries = state.models[app_label, model_name].options[option_name]
    _set_option(state, app_label, model_name, option_name, [entry for entry in entries if entry.name != name])


def _set_option(state: Any, app_label: str, model_name: str, option_name: str, entries: list[Option]) -> None:
    """Set the indexes or constraints of a model and of its rendered form: AlterField reads them there."""
    state.models[app_label, model_name].options[option_name] = entries
    if "apps" in state.__dict__:
        setattr(state.apps.get_model(app_label, model_name)._meta, option_name, list(entries))
