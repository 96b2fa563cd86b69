"""Syncs an edited folder while workers are killed, and compares the source with the folder after each sync."""

import contextlib
import os
import random
import signal
import subprocess
import time
import uuid
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from accounts.models import User
from orgs.access.permissions import Visibility
from orgs.creation import create_organization
from orgs.models import Membership
from rag.models import Chunk, DataSource, Document, EmbeddingModel, SyncConnection, SyncKind, SyncRun
from rag.services.ingestion.sync import run_actions
from ragsite.run import commands
from tests.system.chaos.embedding_endpoint import Endpoint
from tests.system.chaos.installation import Site

from .folder import EditedFolder, Round

_MAX_SYNC_SECONDS = 180
# Document's path → its chunks' texts → the ids of the rows.
Rows = dict[str, dict[str, list[uuid.UUID]]]


@dataclass
class Report:
    """What was done, and what differs from what it should be."""

    syncs: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        return not self.differences and self.syncs > 0

    def __str__(self) -> str:
        figures = [f"{number} {name}" for name, number in [*self.counts.items(), *self.kills.items()]]
        return "\n".join(
            [f"{self.syncs} syncs: " + ", ".join(figures), *self.differences[:20], f"good: {self.is_good}"]
        )


class SyncedRun:
    """A source that is synced from an edited folder."""

    def __init__(self, site: Site, endpoint: Endpoint, folder: EditedFolder, chance: random.Random) -> None:
        self.report = Report()
        self._site, self._folder, self._chance = site, folder, chance
        self._background: subprocess.Popen[bytes] | None = None
        self._embedded: list[str] = []
        self._record_texts(endpoint)
        user = User.objects.create_user("sync@chaos.example", None)
        organization = create_organization(name="syncs", slug="syncs")
        Membership.objects.create(user=user, organization=organization)
        model = EmbeddingModel.objects.create(
            name="syncs", provider="openai", dimensions=384, base_url=endpoint.base_url
        )
        self._source = DataSource.objects.create(
            organization=organization,
            slug="synced",
            name="synced",
            visibility=Visibility.PUBLIC,
            owner=user,
            embedding_model=model,
        )
        self._connection = SyncConnection.objects.create(
            source=self._source, kind=SyncKind.FOLDER, location=str(folder.folder), acts_for=user
        )
        site.start_worker_and_scheduler()
        self._sync(is_disturbed=False)
        self._compare_contents()

    def _record_texts(self, endpoint: Endpoint) -> None:
        answer = endpoint.answer

        def record(path: str, body: dict[str, Any]) -> Any:
            self._embedded += body.get("input", [])
            return answer(path, body)

        endpoint.answer = record  # type: ignore[method-assign]

    def stop(self) -> None:
        self._kill_background()

    def sync_edits(self, number: int) -> None:
        """Edit the folder, sync it while workers are killed, and compare."""
        before = self._rows()
        done = self._folder.edit(number)
        self._embedded.clear()
        self._sync(is_disturbed=True)
        self.report.syncs += 1
        self.report.counts["edits"] += number
        self._compare_contents()
        self._compare_chunks(before, done)
        print(
            f"sync {self.report.syncs}: {dict(self.report.kills)}, {len(self.report.differences)} differences",
            flush=True,
        )

    def _sync(self, *, is_disturbed: bool) -> None:
        run = run_actions.start(self._connection, by=None)
        deadline = time.monotonic() + _MAX_SYNC_SECONDS
        remaining_kills = self._chance.randrange(1, 5) if is_disturbed else 0
        while time.monotonic() < deadline:
            self._keep_running()
            run.refresh_from_db()
            if run.state == SyncRun.State.WAITING:
                self.report.counts["confirmed removals"] += 1
                run_actions.confirm_removal(run)
            elif run.state != SyncRun.State.RUNNING:
                break
            elif remaining_kills and run.worked_at:
                time.sleep(self._chance.choice([0, 0.1, 0.3, 1]) * self._chance.random())
                remaining_kills -= 1
                self._kill(run)
            time.sleep(0.05)
        if run.state != SyncRun.State.FINISHED or run.failed:
            self.report.differences.append(f"sync {run.state} in {run.phase}: {run.error} {run.errors}")
        for name in ("added", "changed", "renamed", "removed"):
            self.report.counts[name] += getattr(run, name)

    def _kill(self, run: SyncRun) -> None:
        run.refresh_from_db()
        is_running = run.state == SyncRun.State.RUNNING
        self._kill_background()
        self.report.kills[f"kills while {run.phase}" if is_running else "kills after the end"] += 1
        if self._chance.random() < 0.25:
            self._site.kill_worker_and_scheduler()
            self.report.kills["kills of the ingestion worker and the scheduler"] += 1

    def _keep_running(self) -> None:
        """Restart what has ended, as systemd does."""
        if not self._site.worker_and_scheduler_run():
            self._site.start_worker_and_scheduler()
        if self._background is None or self._background.poll() is not None:
            with open(self._site.folder / "background.log", "ab") as log:
                self._background = subprocess.Popen(
                    commands.background(), stdout=log, stderr=log, start_new_session=True
                )

    def _kill_background(self) -> None:
        if self._background:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._background.pid, signal.SIGKILL)
            self._background.wait()
            self._background = None

    def _compare_contents(self) -> None:
        live = Document.objects.live().filter(source=self._source)
        stored, expected = dict(live.values_list("path", "text")), self._folder.texts()
        for path in sorted(stored.keys() | expected.keys()):
            if stored.get(path) != expected.get(path):
                self.report.differences.append(f"{path} differs: stored {path in stored}, a file {path in expected}")

    def _rows(self) -> Rows:
        rows: Rows = defaultdict(lambda: defaultdict(list))
        chunks = Chunk.objects.filter(source=self._source, document__deleted_at=None)
        for path, text, pk in chunks.values_list("document__path", "text", "pk"):
            rows[path][text].append(pk)
        return rows

    def _compare_chunks(self, before: Rows, done: Round) -> None:
        """Unchanged chunks have the same rows, and the texts that were embedded are those of new rows."""
        after = self._rows()
        old_ids = {pk for texts in before.values() for pks in texts.values() for pk in pks}
        for old_path, texts in before.items():
            new_texts = after.get(done.renamed.get(old_path, old_path), {})
            for text in texts.keys() & new_texts.keys():
                if len(set(texts[text]) & set(new_texts[text])) < min(len(texts[text]), len(new_texts[text])):
                    self.report.differences.append(f"an unchanged chunk of {old_path} was written again")
        new = [text for texts in after.values() for text, pks in texts.items() if not old_ids.issuperset(pks)]
        self.report.counts["new chunks"] += len(new)
        self.report.counts["kept chunks"] += sum(len(pks) for texts in after.values() for pks in texts.values()) - len(
            new
        )
        self.report.counts["embedded texts"] += len(self._embedded)
        for text in set(self._embedded):
            if not any(chunk in text for chunk in new):
                self.report.differences.append("a text was embedded that is not a new chunk")
