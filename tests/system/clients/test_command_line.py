"""The command line of the Python client against the running server."""

import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer
from ragsite_client import cli, credentials

from tests.support.factories import World, ingest_text
from tests.system.clients.client_answers import ANSWER, QUESTION, process_instead_of_sleeping

RunCommand = Callable[..., tuple[int, str]]


@pytest.fixture
def run_command(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> RunCommand:
    """Runs a command of the client; returns its exit code and its output. The key is in the file `key`."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("RAGSITE_URL", raising=False)
    monkeypatch.setattr(time, "sleep", process_instead_of_sleeping)
    (tmp_path / "key").write_text(f"{key}\n")

    def run(*arguments: str) -> tuple[int, str]:
        status = cli.main(arguments)
        output = capsys.readouterr()
        return status, output.out + output.err

    return run


@pytest.fixture
def signed_in(run_command: RunCommand, live_server: LiveServer, tmp_path: Path) -> RunCommand:
    assert run_command("login", live_server.url, "--key-file", str(tmp_path / "key"))[0] == 0
    return run_command


def test_the_command_line_asks_to_sign_in(run_command: RunCommand) -> None:
    assert run_command("sources") == (1, "Sign in first: ragsite login URL\n")


def test_the_command_line_stores_the_key_for_its_user_alone(signed_in: RunCommand, tmp_path: Path) -> None:
    stored = tmp_path / "config" / "ragsite" / "credentials.json"
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600
    status, table = signed_in("sources")
    assert (status, "library" in table, "private" in table) == (0, True, True)


def test_the_command_line_refuses_addresses_that_are_not_ragsites(
    run_command: RunCommand, live_server: LiveServer, tmp_path: Path
) -> None:
    for address, text in (
        ("127.0.0.1:1", "must begin with http:// or https://"),
        (f"{live_server.url}/v1", "answered 404. Is this"),
    ):
        status, output = run_command("login", address, "--key-file", str(tmp_path / "key"))
        assert (status, text in output) == (1, True), output


def test_the_command_line_sends_the_files_of_a_folder_that_have_content(signed_in: RunCommand, tmp_path: Path) -> None:
    folder, empty = tmp_path / "notes", tmp_path / "empty"
    folder.mkdir()
    empty.mkdir()
    (folder / "tea.md").write_text("The kettle is on the second floor.")
    (folder / "[a].md").touch()
    status, text = signed_in("ingest", str(folder), "--source", "library")
    assert (status, "1 documents can be searched, 0 failed." in text) == (0, True), text
    assert "Not sent, because empty: [a].md" in text
    assert signed_in("ingest", str(empty), "--source", "library") == (1, "The folder has no files with content.\n")
    status, text = signed_in("search", "kettle", "--source", "library")
    assert (status, "The kettle is on the second floor." in text) == (0, True)


def test_the_command_line_asks_and_explains_errors(signed_in: RunCommand) -> None:
    status, text = signed_in("ask", QUESTION)
    assert (status, ANSWER in text, "After the check" in text) == (0, True, False)
    status, text = signed_in("search", "kettle", "--source", "nowhere")
    assert (status, "not visible to you" in text, "request" in text) == (1, True, True)


def test_the_command_line_shows_no_control_characters_of_documents(
    live_world: World, live_server: LiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    clipboard, reversed_text = "\x1b]52;c;ZXZpbA==\x07", "\u202etxt.exe"
    text = f"Bicycles {clipboard}are parked \x9b2Jin the {reversed_text} yard."
    ingest_text(live_world.source("library"), f"/bikes{clipboard}", text, title=f"Bicycles{clipboard}")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("RAGSITE_URL", raising=False)
    credentials.save(credentials.Credentials(live_server.url, live_world.key("editor").secret))
    for arguments in (["search", QUESTION], ["ask", QUESTION]):
        assert cli.main(arguments) == 0
        output = capsys.readouterr().out
        assert "Bicycles" in output
        assert {"\x1b", "\x9b", "\x07", "\u202e"}.isdisjoint(output), arguments
