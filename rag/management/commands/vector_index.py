"""manage.py vector_index: show, drop or build the vector indexes."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.table import Table

from rag.providers import provider_factory


class Command(BaseCommand):
    help = (
        "Show, drop or build the vector indexes, which searches of many chunks use. A very large load is several times "
        "as fast without an index: submit it, then drop the index. It is built again automatically after the load; "
        "until then searches are exact, but slower."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", nargs="?", choices=("show", "drop", "build"), default="show")
        parser.add_argument("--dimensions", type=int, choices=sorted(provider_factory.chunk_store().dimensions))

    def handle(self, *args: Any, **options: Any) -> None:
        store, dimensions = provider_factory.chunk_store(), options["dimensions"]
        if options["action"] != "show":
            if not dimensions:
                raise CommandError(f"--dimensions is required: one of {', '.join(map(str, sorted(store.dimensions)))}.")
            if options["action"] == "drop":
                store.drop_vector_index(dimensions)
            elif not store.build_vector_index(dimensions):
                raise CommandError("Another process is building it.")
        table = Table("dimensions", "index", "vectors (about)")
        for index in store.vector_indexes():
            table.add_row(str(index.dimensions), "built" if index.is_built else "not built", f"{index.row_count:,}")
        Console(file=self.stdout).print(table)  # type: ignore[arg-type]  # Django's wrapper of a stream
