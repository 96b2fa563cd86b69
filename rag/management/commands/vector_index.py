"""manage.py vector_index: see, drop and build the indexes that searches of many chunks use."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.table import Table

from rag.models import EMBEDDING_TABLES
from rag.providers.stores.pgvector import hnsw


class Command(BaseCommand):
    help = (
        "Show the vector indexes. Before a very large load, submit it and drop the index: it is built again by itself "
        "when the load has calmed down, in a quarter of the time. Searches are exact, and slower, meanwhile."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", nargs="?", choices=("show", "drop", "build"), default="show")
        parser.add_argument("--dimensions", type=int, choices=sorted(EMBEDDING_TABLES), help="of the index to change")

    def handle(self, *args: Any, **options: Any) -> None:
        dimensions = options["dimensions"]
        if options["action"] != "show":
            if not dimensions:
                raise CommandError(f"Say which: --dimensions, one of {', '.join(map(str, sorted(EMBEDDING_TABLES)))}.")
            if options["action"] == "drop":
                hnsw.drop(dimensions)
            elif not hnsw.build(dimensions):
                raise CommandError("Another process is building it.")
        table = Table("dimensions", "index", "vectors (about)")
        for state in hnsw.states():
            table.add_row(str(state.dimensions), "there" if state.is_there else "not there", f"{state.rows:,}")
        Console(file=self.stdout).print(table)  # type: ignore[arg-type]  # Django's wrapper of a stream
