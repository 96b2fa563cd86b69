"""manage.py reembed: move a data source to another embedding model, from the command line."""

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from rag.errors import RagError
from rag.models import EmbeddingModel, Reembedding
from rag.services.reembedding import lifecycle, worker
from rag.services.sources import lookup

State = Reembedding.State


class Command(BaseCommand):
    help = (
        "Build vectors of another embedding model for a data source, beside those that it has, and switch to them. "
        "Without a model and an option: say how it stands."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("source", help="its id, its slug, or organisation/slug")
        parser.add_argument("model", nargs="?", help="name of the new embedding model")
        parser.add_argument("--wait", action="store_true", help="until it is ready (or switched, or removed)")
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--switch", action="store_true", help="as soon as it is ready, if the quality gate allows it")
        what.add_argument("--no-gate", metavar="REASON", help="switch whatever the gate says; the reason is kept")
        what.add_argument("--roll-back", action="store_true", help="go back to the old model")
        what.add_argument("--drop", action="store_true", help="remove the old vectors")
        what.add_argument("--cancel", action="store_true", help="end it, and remove what was built")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            source = lookup.get_any_source(options["source"])
            row = self._act(lifecycle.get_current(source), source, options)
        except RagError as error:
            raise CommandError(error.message) from None
        if row and options["wait"]:
            self._wait(row)
        self._say(row)

    def _act(self, row: Reembedding | None, source: Any, options: dict[str, Any]) -> Reembedding | None:
        reason = options["no_gate"] or ""
        if options["model"]:
            model = EmbeddingModel.objects.filter(name=options["model"]).first()
            if model is None:
                names = ", ".join(EmbeddingModel.objects.values_list("name", flat=True))
                raise CommandError(f"There is no embedding model of this name; there are: {names}.")
            itself = bool(options["switch"] or reason)
            return lifecycle.start(source, model, switches_automatically=itself, forced_because=reason)
        chosen = [name for name in ("switch", "no_gate", "roll_back", "drop", "cancel") if options[name]]
        if not chosen:
            return row
        if row is None:
            raise CommandError("Nothing is under way for this source: name a model.")
        if chosen[0] in ("switch", "no_gate"):
            lifecycle.switch(row, forced_because=reason)
        elif chosen[0] == "roll_back":
            return lifecycle.roll_back(row)
        elif chosen[0] == "drop":
            lifecycle.drop(row)
        else:
            lifecycle.cancel(row)
        return row

    def _wait(self, row: Reembedding) -> None:
        """Where no worker is at it, this process does the work."""
        columns = (TextColumn("embedding"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True)) as progress:
            bar = progress.add_task("", total=None)
            while row.state == State.BUILDING or row.clearing_id:
                worker.advance_due()
                row.refresh_from_db()
                progress.update(bar, total=row.total or None, completed=row.done)
                time.sleep(0.2)

    def _say(self, row: Reembedding | None) -> None:
        if row is None:
            self.stdout.write("Nothing is under way for this source.")
            return
        row.refresh_from_db()
        self.stdout.write(f"{row.from_model} → {row.to_model}: {row.get_state_display()}, {row.done} of {row.total}.")
        for quality in (row.old_quality, row.new_quality):
            if quality:
                self.stdout.write(
                    f"{quality.model}: nDCG@10 {quality.ndcg_at_10:.3f}, Recall@10 {quality.recall_at_10:.3f}, "
                    f"{quality.questions} golden questions."
                )
        if row.state == State.READY:
            self.stdout.write(lifecycle.check_quality_gate(row) or "Ready: switch it with --switch.")
        elif row.error:
            self.stdout.write(row.error)
