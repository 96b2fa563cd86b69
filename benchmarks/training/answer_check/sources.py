"""The files that training reads, as arguments of a command, and the pairs in them."""

import argparse
import random
from pathlib import Path

from benchmarks.training.answer_check.pairs import Pair, read_judged, read_selqa

_INVENTED = 24_000
# With the 442 articles of SQuAD 1.1's training set these are about 5,000 questions.
_QUESTIONS_PER_ARTICLE = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name the files, and the file that is written."""
    parser.add_argument("squad", type=Path)
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--selqa", type=Path, nargs="*", default=[], help="JSON files of SelQA")
    parser.add_argument("--per-article", type=int, default=_QUESTIONS_PER_ARTICLE, help="questions per SQuAD article")
    parser.add_argument("--measuring", type=Path, nargs="*", default=[], help="texts that measure the product")
    parser.add_argument("--judged", type=Path, help='lines {"question", "answer", "is_right"}')
    parser.add_argument("--written", type=Path, nargs="*", default=[], help="questions written by hand, *.jsonl")
    parser.add_argument(
        "--twins", type=Path, nargs="*", default=[], help="the same about two similar passages, *.jsonl"
    )
    parser.add_argument("--invented", type=int, default=_INVENTED, help=f"number of invented pairs, {_INVENTED:,}")
    parser.add_argument("--out", type=Path, required=True)


def read_pairs(options: argparse.Namespace) -> dict[str, list[Pair]]:
    """Return all pairs by their source."""
    from benchmarks.training.answer_check.documentation_pairs import read_documentation_pairs
    from benchmarks.training.answer_check.invented.pairs import invent_pairs
    from benchmarks.training.answer_check.squad_pairs import read_squad_pairs

    generator = random.Random(4)
    measuring_text = "\n".join(file.read_text() for file in options.measuring)
    return {
        "squad": read_squad_pairs(
            options.squad, generator, questions_per_article=options.per_article, measuring_text=measuring_text
        ),
        "selqa": [pair for file in options.selqa for pair in read_selqa(file, generator)],
        "documentation": [pair for folder in options.folders for pair in read_documentation_pairs(folder, generator)],
        "judged": read_judged(options.judged) if options.judged else [],
        "invented": invent_pairs(options.invented, random.Random(11)),
    }
