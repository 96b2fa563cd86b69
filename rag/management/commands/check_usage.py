"""manage.py check_usage: compares what organisations are counted to store with what they store."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from rag.services.maintenance import usage


class Command(BaseCommand):
    help = "Compare the counters of the quotas with sums over all documents. Fails if one differs and is not repaired."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--repair", action="store_true", help="set the counters that differ to the sums")

    def handle(self, *args: Any, **options: Any) -> None:
        found = usage.find_differences()
        for each in found:
            chunks, size = each.counted
            self.stdout.write(
                f"{each.slug}: counted {chunks:,} chunks and {size:,} bytes, "
                f"stored {each.stored[0]:,} chunks and {each.stored[1]:,} bytes"
            )
            if options["repair"]:
                usage.repair(each.organization_id)
        if not found:
            self.stdout.write("The counters are what is stored.")
        elif options["repair"]:
            self.stdout.write(f"Repaired: {len(found)}.")
        else:
            raise CommandError(f"Organisations whose counter differs: {len(found)}. Repair with --repair.")
