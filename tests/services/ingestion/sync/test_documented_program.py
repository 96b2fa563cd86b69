"""The program of docs/admin/pull-sync.md, against the running API."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from rag.models import SyncConnection, SyncKind
from tests.services.ingestion.sync.conftest import run_to_end
from tests.support.factories import World

PAGE = Path(__file__).parents[4] / "docs" / "admin" / "pull-sync.md"


@pytest.mark.django_db(transaction=True)
def test_the_program_compares_a_source_with_its_folder(
    live_server: LiveServer, live_world: World, tmp_path: Path, settings: Any
) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    settings.RAG_SYNC_FOLDERS = {"*": [str(folder)]}
    (folder / "a.txt").write_text("The first file.")
    source = live_world.source("handbook")
    connection = SyncConnection.objects.create(
        source=source, kind=SyncKind.FOLDER, location=str(folder), acts_for=live_world.users["owner"]
    )
    run_to_end(connection)
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    environment = {**os.environ, "API_KEY": live_world.key("owner", "query").secret}

    def compare() -> tuple[int, str]:
        command = [sys.executable, "-c", program, live_server.url, "handbook", str(folder)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    assert compare() == (0, "")
    (folder / "a.txt").rename(folder / "b.txt")
    assert compare() == (1, "not stored: b.txt\nnot in the folder: a.txt\n")
    run_to_end(connection)
    assert compare() == (0, "")
