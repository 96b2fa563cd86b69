"""manage.py reembed: move a data source to another embedding model."""

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from rag.errors import RagError
from rag.models import DataSource, EmbeddingModel, Reembedding
from rag.services.reembedding import background, lifecycle
from rag.services.sources import lookup

State = Reembedding.State


class Command(BaseCommand):
    help = (
        "Build vectors of another embedding model for a data source, in addition to its current ones, and switch to "
        "them. Without a model and without an option: show the current re-embedding."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("source", help="id, slug, or organisation/slug")
        parser.add_argument("model", nargs="?", help="name of the new embedding model")
        parser.add_argument(
            "--wait", action="store_true", help="embed here too, until it is ready, switched or removed"
        )
        action = parser.add_mutually_exclusive_group()
        action.add_argument(
            "--switch", action="store_true", help="switch as soon as it is ready, if the quality gate allows it"
        )
        action.add_argument(
            "--no-gate", metavar="REASON", help="switch without the quality gate; the reason is recorded"
        )
        action.add_argument("--roll-back", action="store_true", help="return to the old model")
        action.add_argument("--drop", action="store_true", help="remove the vectors of the old model")
        action.add_argument(
            "--cancel", action="store_true", help="cancel the re-embedding, and remove the vectors that it has built"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            source = lookup.get_any_source(options["source"])
            reembedding = self._execute(lifecycle.get_current(source), source, options)
        except RagError as error:
            raise CommandError(error.message) from None
        if reembedding and options["wait"]:
            self._work_until_ended(reembedding)
        self._report(reembedding)

    def _execute(
        self, reembedding: Reembedding | None, source: DataSource, options: dict[str, Any]
    ) -> Reembedding | None:
        """Perform the requested action, and return the re-embedding that it concerns; without one the current one."""
        reason = options["no_gate"] or ""
        if options["model"]:
            model = EmbeddingModel.objects.filter(name=options["model"]).first()
            if model is None:
                names = ", ".join(EmbeddingModel.objects.values_list("name", flat=True))
                raise CommandError(f"There is no embedding model with this name. There are: {names}.")
            is_automatic = bool(options["switch"] or reason)
            return lifecycle.start(source, model, switches_automatically=is_automatic, forced_because=reason)
        actions = [name for name in ("switch", "no_gate", "roll_back", "drop", "cancel") if options[name]]
        if not actions:
            return reembedding
        if reembedding is None:
            raise CommandError("This source has no unfinished re-embedding: name a model to start one.")
        if actions[0] in ("switch", "no_gate"):
            lifecycle.switch(reembedding, forced_because=reason)
        elif actions[0] == "roll_back":
            return lifecycle.roll_back(reembedding)
        elif actions[0] == "drop":
            lifecycle.drop(reembedding)
        else:
            lifecycle.cancel(reembedding)
        return reembedding

    def _work_until_ended(self, reembedding: Reembedding) -> None:
        """Work on the re-embedding in this process until it has ended. The background process may do so, too."""
        columns = (TextColumn("embedding"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True)) as progress:
            bar = progress.add_task("", total=None)
            while reembedding.state == State.BUILDING or reembedding.model_to_remove_id:
                background.advance_due()
                reembedding.refresh_from_db()
                progress.update(bar, total=reembedding.total or None, completed=reembedding.done)
                time.sleep(0.2)

    def _report(self, reembedding: Reembedding | None) -> None:
        """Print the state of the re-embedding and the quality of both models."""
        if reembedding is None:
            self.stdout.write("This source has no unfinished re-embedding.")
            return
        reembedding.refresh_from_db()
        self.stdout.write(
            f"{reembedding.from_model} → {reembedding.to_model}: {reembedding.get_state_display()}, "
            f"{reembedding.done} of {reembedding.total}."
        )
        for run in (reembedding.old_quality, reembedding.new_quality):
            if run:
                self.stdout.write(
                    f"{run.model}: nDCG@10 {run.ndcg_at_10:.3f}, Recall@10 {run.recall_at_10:.3f}, "
                    f"{run.questions} golden questions."
                )
        if reembedding.state == State.READY:
            self.stdout.write(lifecycle.quality_gate_failure(reembedding) or "Ready. Switch with --switch.")
        elif reembedding.error:
            self.stdout.write(reembedding.error)
