"""manage.py check_term_statistics: compares the statistics of words with what the chunks' rows say."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from rag.services.maintenance import term_statistics


class Command(BaseCommand):
    help = "Compare the statistics of words with the rows of all chunks. Fails if one differs and is not repaired."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--repair", action="store_true", help="set the counts that differ right")

    def handle(self, *args: Any, **options: Any) -> None:
        found = term_statistics.check()
        for each in found:
            self.stdout.write(f"{each.slug} ({each.source_id}): {each.counts:,} counts differ")
            if options["repair"]:
                term_statistics.repair(each.source_id)
        if not found:
            self.stdout.write("The statistics of words are what the chunks say.")
        elif options["repair"]:
            self.stdout.write(f"Repaired: {len(found)}.")
        else:
            raise CommandError(f"Sources whose statistics differ: {len(found)}. Repair with --repair.")
