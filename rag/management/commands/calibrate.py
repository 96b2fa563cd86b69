"""manage.py calibrate: what scores mean, measured on labelled questions."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from rag.errors import RagError
from rag.models import Calibration, DataSource, EmbeddingModel
from rag.pipeline.grounding.calibration import RETRIEVAL_MODES
from rag.services.evaluation import calibration, labelled_sets


class Command(BaseCommand):
    help = (
        "Fit the probability that an evidence score stands for, per embedding model and gear, on the golden questions "
        "of the sources that are searched with the model, or on the labelled sets of a folder."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("model", nargs="?", help="its name; default: every one that has sources")
        parser.add_argument("--gear", choices=[*RETRIEVAL_MODES], action="append", help="default: all of them")
        parser.add_argument(
            "--sets",
            help="a folder with retrieval/NAME/{corpus.jsonl,queries.jsonl,qrels.tsv}: these sets instead of golden "
            "questions, ingested for the time of it; for the default model unless one is named",
        )
        parser.add_argument(
            "--adopt",
            action="store_true",
            help="and let the calibrated cosines replace the model's thresholds",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        done = 0
        for model in _models(options["model"], is_with_sets=bool(options["sets"])):
            try:
                sets = (
                    labelled_sets.ingest_labelled_sets(Path(options["sets"]), model)
                    if options["sets"]
                    else nullcontext()
                )
                with sets as sources:
                    done += sum(
                        self._calibrate(model, gear, sources, adopt=options["adopt"])
                        for gear in options["gear"] or RETRIEVAL_MODES
                    )
            except (RagError, OSError) as error:
                raise CommandError(getattr(error, "message", "") or str(error)) from None
        if not done:
            raise CommandError("Nothing was calibrated.")

    def _calibrate(
        self, model: EmbeddingModel, gear: str, sources: Sequence[DataSource] | None, *, adopt: bool
    ) -> bool:
        """Whether it could be."""
        try:
            found = calibration.calibrate(model, gear, sources)
            if adopt:
                calibration.adopt(found)
        except (RagError, TimeoutError) as error:
            self.stderr.write(str(getattr(error, "message", "") or "It took too long."))
            return False
        self.stdout.write(
            f"{found}: expected calibration error {found.calibration_error:.3f} on {found.questions} questions."
        )
        self.stdout.write(f"  {_risk(found)}")
        return True


def _models(name: str | None, *, is_with_sets: bool) -> Sequence[EmbeddingModel]:
    if not name and is_with_sets:  # embedding the sets by every model might cost money
        return [EmbeddingModel.objects.default()]
    models = list(EmbeddingModel.objects.filter(**({"name": name} if name else {})))
    if not models:
        raise CommandError(f"There is no embedding model {name}.")
    return models


def _risk(found: Calibration) -> str:
    """The curve of coverage and risk at a few places."""
    points = [
        min(found.risk, key=lambda point: abs(point[0] - share)) for share in (0.1, 0.25, 0.5, 0.75, 1.0) if found.risk
    ]
    told = ", ".join(f"{covered:.0%}: {wrong:.0%}" for covered, wrong in dict(points).items())
    return f"wrong among the surest: {told}" if told else ""
