"""manage.py demo: the demo data of `make run`."""

import time
import uuid
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from rag.models import IngestionJob
from rag.services.operations import demo


class Command(BaseCommand):
    help = "Create the demo organisations, accounts and data sources that do not exist yet."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--wait", action="store_true", help="wait until the documentation can be searched")

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.RAG_LOCAL:
            raise CommandError("Demo accounts have a known password, so the product must listen on loopback only.")
        jobs = demo.create_demo_data(password=settings.RAG_DEMO_PASSWORD)
        self.stdout.write(f"The demo data exists; {len(jobs)} sources are being ingested.")
        if options["wait"]:
            self._wait([job.pk for job in jobs])

    def _wait(self, job_ids: list[uuid.UUID]) -> None:
        deadline = time.monotonic() + 300
        open_jobs = IngestionJob.objects.filter(pk__in=job_ids, finished_at=None)
        while open_jobs.exists():
            if time.monotonic() > deadline:
                raise CommandError("The demo jobs did not finish within five minutes. Check that a worker is running.")
            time.sleep(0.2)
        if IngestionJob.objects.filter(pk__in=job_ids, status=IngestionJob.Status.FAILED).exists():
            raise CommandError("The documentation could not be ingested. See the worker's log.")
