"""What an upgrade does while the earlier version still answers, and what it does after that has stopped."""

from typing import Any
from unittest.mock import Mock

import pytest

from ragsite.postgres import identity
from ragsite.run import migrate_and_collect


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], ["migrate", "collectstatic"]),
        (["--pause"], ["collectstatic", "check", "the old version stops", "migrate"]),
    ],
)
def test_only_the_migrations_wait_until_the_earlier_version_has_stopped(
    live_world: Any, monkeypatch: pytest.MonkeyPatch, arguments: list[str], expected: list[str]
) -> None:
    steps: list[str] = []
    monkeypatch.setattr(identity, "run_process_as", lambda identity: None)
    monkeypatch.setattr(migrate_and_collect, "execute_from_command_line", lambda command: steps.append(command[1]))
    monkeypatch.setattr(migrate_and_collect, "gc", Mock())
    monkeypatch.setattr("builtins.input", lambda prompt: steps.append("the old version stops"))
    migrate_and_collect.main(arguments)
    assert steps == expected
