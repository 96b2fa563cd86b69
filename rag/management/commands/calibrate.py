"""manage.py calibrate: what scores mean, measured on the golden questions."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from rag.errors import RagError
from rag.models import EmbeddingModel
from rag.pipeline.calibration import GEARS
from rag.services import calibration


class Command(BaseCommand):
    help = (
        "Fit the probability that an evidence score stands for, per embedding model and gear, on the golden questions "
        "of the sources that are searched with the model."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("model", nargs="?", help="its name; default: every one that has sources")
        parser.add_argument("--gear", choices=[*GEARS], action="append", help="default: all of them")
        parser.add_argument(
            "--adopt",
            action="store_true",
            help="and let the calibrated cosines replace the model's thresholds",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        models = EmbeddingModel.objects.filter(**({"name": options["model"]} if options["model"] else {}))
        if not models:
            raise CommandError(f"There is no embedding model {options['model']}.")
        done = 0
        for model in models:
            for gear in options["gear"] or GEARS:
                try:
                    found = calibration.calibrate(model, gear)
                    if options["adopt"]:
                        calibration.adopt(found)
                except (RagError, TimeoutError) as error:
                    self.stderr.write(str(getattr(error, "message", "") or "it took longer than RAG_QUALITY_SECONDS"))
                    continue
                done += 1
                self.stdout.write(
                    f"{found}: expected calibration error {found.calibration_error:.3f} on {found.questions} questions."
                )
        if not done:
            raise CommandError("Nothing was calibrated.")
