"""python -m benchmarks.speed.admin_lists: how long the admin's lists take, with many documents and jobs.

It writes the rows in bulk, without chunks or vectors, and asks for each list as an owner and as a superuser: with the
database roles and the row-level security of a web process, in process and without HTTP. Run it on a database of its
own: `python -m ragsite.embedded FOLDER --throwaway python -m benchmarks.speed.admin_lists`. Beside the duration it
prints the CPU time of Python and PostgreSQL, which depends less on other work on the machine.

ADMIN_DOCUMENTS, ADMIN_JOBS, ADMIN_ROUNDS: how many documents and jobs, and how often each list is asked for.
"""

import os
import secrets
import statistics
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

import django

from ragsite.postgres import identity

_SOURCES = 20
_DOCUMENTS_OF_A_JOB = 20
# Every list of the admin is measured, and these views of the long ones.
VIEWS = {
    "documents, page 9": "/admin/rag/document/?p=9",
    "documents by title": "/admin/rag/document/?o=1",
    "documents, search": "/admin/rag/document/?q=page+77",
    "documents, a rare word": "/admin/rag/document/?q=7654",
    "jobs by source": "/admin/rag/ingestionjob/?o=1",
    "jobs with errors": "/admin/rag/ingestionjob/?status__exact=completed+with+errors",
    "home": "/admin/",
    "access matrix": "/admin/rag/datasource/matrix/",
}


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
    os.environ.setdefault("RAG_LOCAL", "1")
    os.environ.setdefault("LOG_LEVEL", "ERROR")
    identity.run_process_as(identity.OWNER)
    django.setup()
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connection
    from django.test import Client

    from ragsite.postgres import role_connections

    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "testserver"]
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
    call_command("migrate", verbosity=0)
    documents, jobs, rounds = (
        int(os.environ.get(f"ADMIN_{name}", default))
        for name, default in (("DOCUMENTS", "100000"), ("JOBS", "1000"), ("ROUNDS", "20"))
    )
    clients = {}
    for role, user in _fill(documents, jobs).items():
        clients[role] = Client()
        clients[role].force_login(user)
    cpu_times = CpuTimes(connection)
    connection.close()
    role_connections.close_all()
    identity.run_process_as(identity.ANONYMOUS)
    print(f"{documents:,} documents, {jobs:,} jobs, {rounds} rounds; milliseconds\n{'':35} duration      CPU time")
    print(f"{'':24} {'':10} median    p95 median    p95")
    for name, path in {**_lists(), **VIEWS}.items():
        for role, client in clients.items():
            if figures := _measure(client, path, rounds, cpu_times):
                print(f"{name:24} {role:10} " + " ".join(f"{figure:6.0f}" for figure in figures), flush=True)


def _lists() -> dict[str, str]:
    """Return name → path of the list of each model that the admin has."""
    from django.contrib import admin
    from django.urls import reverse

    admin.autodiscover()
    return {
        str(model._meta.verbose_name_plural): reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_changelist")
        for model in admin.site._registry
    }


class CpuTimes:
    """The CPU time of this process and of the processes of PostgreSQL, on the same machine."""

    def __init__(self, connection: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            backend = cursor.fetchone()[0]
        status = Path(f"/proc/{backend}/stat").read_text()
        self._postmaster_pid = status.rpartition(")")[2].split()[1]

    def read(self) -> dict[str, float]:
        """Return the CPU time so far, in milliseconds, by process id of PostgreSQL; "" is this process."""
        times = {"": time.process_time() * 1000}
        for process in Path(f"/proc/{self._postmaster_pid}/task/{self._postmaster_pid}/children").read_text().split():
            with suppress(OSError):  # it has ended
                times[process] = int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) / 1e6
        return times


def _measure(client: Any, path: str, rounds: int, cpu_times: CpuTimes) -> tuple[float, ...] | None:
    """Median and 95th percentile of the duration and of the CPU time in milliseconds.

    None if the account may not see the list. The first requests, which fill caches, do not count.
    """
    durations, times = [], []
    for _ in range(rounds + 2):
        before, start = cpu_times.read(), time.perf_counter()
        reply = client.get(path)
        if reply.status_code == 403:
            return None
        assert reply.status_code == 200, (path, reply.status_code)
        durations.append((time.perf_counter() - start) * 1000)
        times.append(sum(after - before.get(process, 0) for process, after in cpu_times.read().items()))
    return tuple(figure for measured in (durations[2:], times[2:]) for figure in _median_and_p95(measured))


def _median_and_p95(figures: list[float]) -> tuple[float, float]:
    ordered = sorted(figures)
    return statistics.median(ordered), ordered[max(0, round(0.95 * len(ordered)) - 1)]


def _fill(documents: int, jobs: int) -> dict[str, Any]:
    """Write the rows, and return the users whose lists are measured."""
    from django.db import connection

    from accounts.models import User
    from orgs.creation import add_member, create_organization
    from rag.models import DataSource, Document, EmbeddingModel, IngestionDocument, IngestionJob

    name = f"bench-{secrets.token_hex(4)}"
    organization = create_organization(name=name, slug=name)
    owner = User.objects.create_user(f"{name}@bench.example", name, is_staff=True)
    add_member(user=owner, organization=organization, roles=("owner",))
    superuser = User.objects.create_superuser(f"{name}-root@bench.example", name)
    model = EmbeddingModel.objects.default()
    sources = [
        DataSource.objects.create(
            organization=organization, slug=f"s{number}", name=f"Source {number}", embedding_model=model, owner=owner
        )
        for number in range(_SOURCES)
    ]
    options = {"chunk_size": 256, "chunk_overlap": 64}
    Document.objects.bulk_create(
        (
            Document(
                source=sources[number % _SOURCES],
                path=f"pages/{number}.md",
                title=f"A page {number}",
                content_type="text/markdown",
                source_type="doc",
                lang="en",
                text="What this page says. " * 50,
                content_hash=f"{number:064x}",
                chunk_count=1,
                revision=uuid.uuid4(),
                **options,
            )
            for number in range(documents)
        ),
        batch_size=2_000,
    )
    rows = IngestionJob.objects.bulk_create(
        IngestionJob(source=sources[number % _SOURCES], created_by=owner, status="completed", **options)
        for number in range(jobs)
    )
    IngestionDocument.objects.bulk_create(
        (
            IngestionDocument(
                job=job,
                source=job.source,
                index=number,
                path=f"pages/{number}.md",
                title=f"A page {number}",
                state="failed" if number == 0 and index % 10 == 0 else "done",
                chunk_count=1,
            )
            for index, job in enumerate(rows)
            for number in range(_DOCUMENTS_OF_A_JOB)
        ),
        batch_size=2_000,
    )
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)")  # as the server does by itself after a while
    return {"owner": owner, "superuser": superuser}


if __name__ == "__main__":
    main()
