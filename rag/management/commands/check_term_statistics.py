"""manage.py check_term_statistics: compares the term statistics with the chunks."""

from django.core.management.base import BaseCommand, CommandError, CommandParser

from rag.services.maintenance.indexes import repair_term_statistics


class Command(BaseCommand):
    help = (
        "Compare the term statistics with the chunks of all sources, and their totals with the statistics. "
        "Fails if one differs and is not repaired."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--repair", action="store_true", help="correct the counts that differ")

    def handle(self, *args: object, **options: object) -> None:
        differences = repair_term_statistics.check()
        for difference in differences:
            self.stdout.write(f"{difference.slug} ({difference.source_id}): {difference.count:,} counts differ")
            if options["repair"]:
                repair_term_statistics.repair(difference.source_id)
        totals = repair_term_statistics.check_all_totals()
        for organization_id, count in totals.items():
            self.stdout.write(f"Organisation {organization_id}: {count:,} totals differ")
            if options["repair"]:
                repair_term_statistics.repair_totals(organization_id)
        if not differences and not totals:
            self.stdout.write("The term statistics of all sources are correct.")
        elif options["repair"]:
            self.stdout.write(f"Repaired: {len(differences) + len(totals)}.")
        else:
            raise CommandError(
                f"Sources whose statistics differ: {len(differences)}, organisations whose totals differ: "
                f"{len(totals)}. Repair with --repair."
            )
