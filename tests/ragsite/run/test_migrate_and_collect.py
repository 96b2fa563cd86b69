"""What an upgrade does while the earlier version still answers, and what it does after that has stopped."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.finders import FileSystemFinder
from django.core.management import call_command
from django.core.management.base import BaseCommand

from ragsite.postgres import identity
from ragsite.postgres.versions import compatibility
from ragsite.run import migrate_and_collect, static_files
from ragsite.run.commands import MIGRATED


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], ["check all", "collectstatic", "migrate", MIGRATED]),
        (["--then", "demo"], ["collectstatic", "check database", "migrate", MIGRATED, "check all", "demo"]),
        (["--pause"], ["collectstatic", "check all", "the old version stops", "migrate"]),
    ],
)
def test_the_commands_run_in_this_order(
    live_world: Any, monkeypatch: pytest.MonkeyPatch, arguments: list[str], expected: list[str]
) -> None:
    steps: list[str] = []
    monkeypatch.setattr(identity, "run_process_as", lambda identity: None)
    monkeypatch.setattr(migrate_and_collect, "execute_from_command_line", lambda command: steps.append(command[1]))
    monkeypatch.setattr(
        BaseCommand, "check", lambda self, tags, databases: steps.append(f"check {(tags or ['all'])[0]}")
    )
    monkeypatch.setattr(migrate_and_collect, "gc", Mock())
    monkeypatch.setattr(migrate_and_collect, "static_files", Mock(are_collected=lambda: False))
    monkeypatch.setattr(migrate_and_collect, "print", lambda line, flush: steps.append(line), raising=False)
    monkeypatch.setattr("builtins.input", lambda prompt: steps.append("the old version stops"))
    migrate_and_collect.main(arguments)
    assert steps == expected


@pytest.mark.parametrize("arguments", [[], ["--then", "demo"], ["--pause"]])
def test_a_problem_of_the_database_is_the_last_line(
    live_world: Any, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setattr(identity, "run_process_as", lambda identity: None)
    monkeypatch.setattr(migrate_and_collect, "static_files", Mock(are_collected=lambda: True))
    monkeypatch.setattr(compatibility, "is_outdated", lambda connection: True)
    with pytest.raises(SystemExit) as ended:
        migrate_and_collect.main(arguments)
    assert "cannot be upgraded: delete it with `make clean-data`" in str(ended.value.code).splitlines()[-1]


def test_static_files_are_collected_when_they_or_the_collected_ones_have_changed(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, settings.STATIC_ROOT = tmp_path / "source", tmp_path / "collected"
    source.mkdir()
    (source / "page.css").write_text("a {}")
    settings.STATICFILES_DIRS = [source]
    monkeypatch.setattr(finders, "get_finders", lambda: [FileSystemFinder()])
    collected: list[bool] = []

    def start() -> bool:
        """Return whether this start collects the files."""
        collected.append(not static_files.are_collected())
        if collected[-1]:
            call_command("collectstatic", "--noinput", "--verbosity=0")
            static_files.remember()
        return collected[-1]

    assert [start(), start()] == [True, False]
    (source / "page.css").write_text("a { color: red }")
    assert [start(), start()] == [True, False]
    (settings.STATIC_ROOT / "page.css").unlink()
    assert [start(), start()] == [True, False]
    assert (settings.STATIC_ROOT / "page.css").read_text() == "a { color: red }"
