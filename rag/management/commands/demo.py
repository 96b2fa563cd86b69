"""manage.py demo: the demo data of `make run`."""

import time
import uuid
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from orgs.access.permissions import Visibility
from rag.models import IngestionJob
from rag.services.operations import demo_data


class Command(BaseCommand):
    help = "Create the demo organisations, accounts and data sources that do not exist yet."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--wait",
            type=int,
            metavar="SECONDS",
            default=0,
            help="wait until the user documentation can be searched, at most this long",
        )
        parser.add_argument(
            "--operator", action="store_true", help="create a superuser as well, with the same known password"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.RAG_LOCAL:
            raise CommandError("Demo accounts have a known password, so the product must listen on loopback only.")
        jobs = demo_data.create_demo_data(password=settings.RAG_DEMO_PASSWORD, has_operator=options["operator"])
        if options["verbosity"]:
            self.stdout.write(f"The demo data exists; {len(jobs)} sources are being ingested.")
        self._wait([job.pk for job in jobs], deadline=time.monotonic() + options["wait"])

    def _wait(self, job_ids: list[uuid.UUID], *, deadline: float) -> None:
        """Wait for the pages that everybody may read. The first questions are about them.

        Neither a slow machine nor a failed job is an error: the product works without them.
        """
        jobs = IngestionJob.objects.filter(pk__in=job_ids)
        needed = jobs.filter(source__visibility=Visibility.PUBLIC, finished_at=None)
        while needed.exists() and time.monotonic() < deadline:
            time.sleep(0.2)
        if needed.exists():
            self.stdout.write("The documentation is still being ingested. Searches find more of it every minute.")
        elif jobs.filter(finished_at=None).exists():
            self.stdout.write("The documentation for admins and operators follows within a minute.")
        if jobs.filter(status=IngestionJob.Status.FAILED).exists():
            self.stdout.write("A part of the documentation could not be ingested. See the worker's log.")
