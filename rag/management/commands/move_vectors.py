"""manage.py move_vectors: move searches from pgvector to Qdrant, or back, while the system runs."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from rag.errors import IndexUnavailable
from rag.management.transfer_progress import TransferProgress
from rag.services.maintenance.indexes import move_vectors

_MIN_RECALL = 0.95


class Command(BaseCommand):
    help = (
        "Prepare searches in Qdrant (qdrant) or in PostgreSQL (pgvector), while the system runs. Then set VECTOR_STORE "
        "and restart the processes one by one. PostgreSQL keeps all vectors, so both directions can be repeated at any "
        "time, and an interrupted copy continues where points are missing or differ."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("target", choices=("qdrant", "pgvector"))
        parser.add_argument("--sample", type=int, default=100, help="Chunks of each model to compare.")
        parser.add_argument(
            "--recreate", action="store_true", help="Delete the collections first, such as those without token vectors."
        )
        parser.add_argument("--finish", action="store_true", help="After the return to pgvector: stop copying changes.")

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.QDRANT_URL and options["target"] == "qdrant":
            raise CommandError("Set QDRANT_URL to the address of the Qdrant server.")
        if options["finish"]:
            self._finish(options["target"])
        elif options["target"] == "pgvector":
            built = move_vectors.build_vector_indexes()
            self.stdout.write(f"Vector indexes built: {len(built)}. Set VECTOR_STORE=pgvector, restart all processes,")
            self.stdout.write("and then end the copying of changes with: manage.py move_vectors pgvector --finish")
        else:
            self._copy(options["sample"], recreate=options["recreate"])

    def _copy(self, sample: int, *, recreate: bool) -> None:
        if recreate and settings.VECTOR_STORE == "qdrant":
            raise CommandError(
                "Searches would fail until all chunks are copied again. Move them to pgvector first: "
                "manage.py move_vectors pgvector"
            )
        try:
            with TransferProgress() as progress:
                leftovers = move_vectors.copy_to_qdrant(
                    lambda count: progress.advance("documents", count), recreate=recreate
                )
            recall = move_vectors.recall(sample)
            incomplete = move_vectors.models_without_token_vectors()
        except IndexUnavailable as error:
            raise CommandError(f"{error.message} Run the command again: it continues.") from error
        self.stdout.write(f"Outdated points deleted: {leftovers}. Recall of the nearest ten: {recall:.3f}.")
        if incomplete:
            self.stdout.write(
                f"The collections of {', '.join(incomplete)} were created without token vectors: they are read from "
                "PostgreSQL. To copy them too, search with VECTOR_STORE=pgvector and run: "
                "manage.py move_vectors qdrant --recreate"
            )
        if recall < _MIN_RECALL:
            raise CommandError(f"The recall is below {_MIN_RECALL}: do not switch. Is Qdrant still optimising?")
        self.stdout.write("Set VECTOR_STORE=qdrant and restart all processes.")

    def _finish(self, target: str) -> None:
        if target != "pgvector" or settings.VECTOR_STORE != "pgvector":
            raise CommandError("Use --finish with pgvector, after VECTOR_STORE=pgvector is set everywhere.")
        move_vectors.finish_return()
        self.stdout.write("Changes are not copied any more. The collections in Qdrant can be deleted.")
