"""manage.py demo: the demo data of `make run`."""

import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

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
            "--operator", action="store_true", help="create a superuser as well, with the password of the demo accounts"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.RAG_LOCAL:
            raise CommandError("Demo accounts have a known password, so the product must listen on loopback only.")
        demo_data.create_demo_data(password=settings.RAG_DEMO_PASSWORD, with_operator=options["operator"])
        # The first questions are about the public pages. The others would delay these: jobs share the workers.
        first = demo_data.ingest_documentation(public=True)
        is_ready = self._wait(first, deadline=time.monotonic() + options["wait"])
        if is_ready:
            demo_data.prepare_for_other_languages()
        others = demo_data.ingest_documentation(public=False)
        if options["verbosity"]:
            self.stdout.write(f"The demo data exists; {len(first + others)} sources are being ingested.")
        if not is_ready:
            self.stdout.write("The documentation is still being ingested. Searches find more of it every minute.")
        elif others:
            self.stdout.write("The documentation for admins and operators follows within a minute.")
        if IngestionJob.objects.filter(pk__in=[job.pk for job in first], status=IngestionJob.Status.FAILED).exists():
            self.stdout.write("A part of the documentation could not be ingested. See the worker's log.")

    def _wait(self, jobs: list[IngestionJob], *, deadline: float) -> bool:
        """Return whether the jobs end in time. Neither a slow machine nor a failed job stops the product."""
        unfinished = IngestionJob.objects.filter(pk__in=[job.pk for job in jobs], finished_at=None)
        while unfinished.exists():
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.2)
        return True
