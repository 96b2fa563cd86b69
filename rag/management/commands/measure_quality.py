"""manage.py measure_quality: measure retrieval quality on the golden questions now."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from rag.errors import RagError
from rag.services.evaluation import quality
from rag.services.sources import lookup


class Command(BaseCommand):
    help = "Measure retrieval quality on the golden questions of a data source, or of all sources that have some."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "source", nargs="?", help="id, slug, or organisation/slug; default: all sources with golden questions"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            sources = (
                [lookup.get_any_source(options["source"])] if options["source"] else quality.sources_with_questions()
            )
        except RagError as error:
            raise CommandError(error.message) from None
        failed = 0
        for source in sources:
            try:
                run = quality.measure_and_compare(source)
            except (RagError, TimeoutError) as error:
                failed += 1
                self.stderr.write(f"{source.slug}: {error or 'it took too long'}")
                continue
            if run is None:
                self.stdout.write(f"{source.slug}: no golden questions.")
                continue
            self.stdout.write(
                f"{source.slug}: nDCG@10 {run.ndcg_at_10:.3f}, Recall@10 {run.recall_at_10:.3f}, MRR@10 "
                f"{run.mrr_at_10:.3f}, {run.questions} golden questions."
            )
        if failed:
            raise CommandError(f"{failed} of {len(sources)} sources could not be measured.")
