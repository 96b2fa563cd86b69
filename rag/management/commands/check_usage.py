"""manage.py check_usage: compare the usage counters of the quotas with the stored documents."""

from django.core.management.base import BaseCommand, CommandError, CommandParser

from rag.services.maintenance import usage_counters


class Command(BaseCommand):
    help = (
        "Compare the usage counters of the quotas with the stored documents. Fails if one differs and is not repaired."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--repair", action="store_true", help="correct the counters that differ")

    def handle(self, *args: object, **options: object) -> None:
        differences = usage_counters.find_differences()
        for difference in differences:
            (counted_chunks, counted_bytes), (stored_chunks, stored_bytes) = difference.counted, difference.stored
            self.stdout.write(
                f"{difference.slug}: the counters say {counted_chunks:,} chunks and {counted_bytes:,} bytes, "
                f"the stored documents have {stored_chunks:,} chunks and {stored_bytes:,} bytes"
            )
            if options["repair"]:
                usage_counters.repair(difference.organization_id)
        if not differences:
            self.stdout.write("The counters of all organisations are correct.")
        elif options["repair"]:
            self.stdout.write(f"Organisations whose counters were repaired: {len(differences)}.")
        else:
            raise CommandError(f"Organisations with a wrong counter: {len(differences)}. Repair with --repair.")
