"""The environment that settings are read from."""

import json
import os
from pathlib import Path

import environ
from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parents[2]
DATA_DIR = Path(os.environ.get("RAGSITE_DATA") or BASE_DIR / "var" / "run").resolve()


class RecordingEnv(environ.Env):  # type: ignore[misc]  # untyped library
    """An environment that records which variables the settings read.

    Attributes:
        names: the variables read so far.
    """

    def __init__(self) -> None:
        super().__init__()
        # Read by the launcher (ragsite.run.launch), not by the settings.
        self.names = {"RAG_DEMO"}

    def get_value(self, var: str, *arguments: object, **options: object) -> object:
        self.names.add(var)
        return super().get_value(var, *arguments, **options)

    def lists_by_organization(self, var: str) -> dict[str, list[str]]:
        """Return a variable's JSON as lists by the slug of an organisation, "*" for all; empty without the variable.

        Raises:
            ImproperlyConfigured: It is something else, such as a list, which would be for all organisations.
        """
        try:
            value = json.loads(self.str(var, default="") or "{}")
        except ValueError:
            value = None
        is_valid = isinstance(value, dict) and all(
            isinstance(entries, list) and all(isinstance(entry, str) for entry in entries) for entries in value.values()
        )
        if not is_valid:
            raise ImproperlyConfigured(
                f'{var} must be JSON with a list for each organisation, by its slug, such as {{"acme": ["one"]}}; '
                '"*" is for all organisations.'
            )
        return dict(value)


env = RecordingEnv()
