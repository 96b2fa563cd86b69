"""manage.py calibrate: fit the probabilities that evidence scores stand for, on labelled questions."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from rag.errors import RagError
from rag.models import Calibration, DataSource, EmbeddingModel
from rag.pipeline.grounding.calibration_curve import RETRIEVAL_MODES
from rag.services.evaluation import fit_calibration, labelled_sets


class Command(BaseCommand):
    help = (
        "Fit the probability that an evidence score stands for, per embedding model and retrieval mode, on the golden "
        "questions of the sources that are searched with the model, or on a folder of labelled sets."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("model", nargs="?", help="name of the embedding model; default: all models")
        parser.add_argument(
            "--mode", choices=[*RETRIEVAL_MODES], action="append", help="retrieval mode; default: all modes"
        )
        parser.add_argument(
            "--sets",
            help="a folder with retrieval/NAME/{corpus.jsonl,queries.jsonl,qrels.tsv}: sets to use in place of golden "
            "questions. They are ingested into temporary sources; without a model name, for the default model only",
        )
        parser.add_argument(
            "--adopt",
            action="store_true",
            help="also make the calibrated cosines the confidence thresholds of the model",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        count = 0
        for model in _models(options["model"], with_sets=bool(options["sets"])):
            try:
                sets = (
                    labelled_sets.ingest_labelled_sets(Path(options["sets"]), model)
                    if options["sets"]
                    else nullcontext()
                )
                with sets as sources:
                    count += sum(
                        self._calibrate(model, mode, sources, adopt=options["adopt"])
                        for mode in options["mode"] or RETRIEVAL_MODES
                    )
            except (RagError, OSError) as error:
                raise CommandError(getattr(error, "message", "") or str(error)) from None
        if not count:
            raise CommandError("Nothing was calibrated.")

    def _calibrate(
        self, model: EmbeddingModel, mode: str, sources: Sequence[DataSource] | None, *, adopt: bool
    ) -> bool:
        """Calibrate one model in one mode, and return whether that succeeded."""
        try:
            calibrated = fit_calibration.calibrate(model, mode, sources)
            if adopt:
                fit_calibration.adopt(calibrated)
        except (RagError, TimeoutError) as error:
            self.stderr.write(str(getattr(error, "message", "") or "It took too long."))
            return False
        self.stdout.write(
            f"{calibrated}: expected calibration error {calibrated.calibration_error:.3f} on {calibrated.questions} "
            "questions."
        )
        self.stdout.write(f"  {_describe_risk(calibrated)}")
        return True


def _models(name: str | None, *, with_sets: bool) -> Sequence[EmbeddingModel]:
    if not name and with_sets:  # embedding the sets with every model might cost money
        return [EmbeddingModel.objects.default()]
    models = list(EmbeddingModel.objects.filter(**({"name": name} if name else {})))
    if not models:
        raise CommandError(f"There is no embedding model {name}.")
    return models


def _describe_risk(calibrated: Calibration) -> str:
    """Return the share of wrong answers among the most certain ones, at a few points of the risk-coverage curve."""
    points = [
        min(calibrated.risk_coverage, key=lambda point: abs(point[0] - share))
        for share in (0.1, 0.25, 0.5, 0.75, 1.0)
        if calibrated.risk_coverage
    ]
    text = ", ".join(f"{covered:.0%}: {wrong:.0%}" for covered, wrong in dict(points).items())
    return f"wrong among the most certain: {text}" if text else ""
