"""Trains the model of rag/providers/entailment/answer_check.py, which judges whether a text answers a question:

    python -m benchmarks.training.answer_check SQUAD.json FOLDER… [--selqa FILE…] [--judged FILE.jsonl]
        [--measuring FILE…] [--start answer_check.npz] --out answer_check.npz

The first file is one of SQuAD 1.1 or 2.0, and each folder has one organisation's documentation in Markdown. Files of
SelQA and judged answers of the product are optional. Articles of SQuAD that the files after --measuring contain are
left out. With --start the training continues from these differences, otherwise from the published weights. torch and
transformers are needed for this only, so they are not among the requirements. The training with 62,700 pairs, of which
24,000 are invented, takes half an hour on one core.
"""

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

from benchmarks.support.set_up import set_up_django
from benchmarks.training.answer_check.pairs import Pair
from benchmarks.training.answer_check.sources import add_arguments, read_pairs

# One question in so many is held out, but no more than _MAX_HELD_OUT of a source.
_SHARE_HELD_OUT, _MAX_HELD_OUT = 12, 400


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training.answer_check")
    add_arguments(parser)
    parser.add_argument("--start", type=Path, help="continue from these differences, with a lower rate")
    options = parser.parse_args()
    set_up_django()
    from benchmarks.training.answer_check.differences import read_trained, write_differences
    from benchmarks.training.answer_check.train import AnswerNetwork
    from rag.providers.embedders.bert_graph import read_weights
    from rag.providers.embedders.minilm_files import find_model_folder

    trained: list[Pair] = []
    held_out: dict[str, list[Pair]] = {}
    for source, pairs in read_pairs(options).items():
        reserved = _reserve_questions(pairs)
        held_out[source] = [pair for pair in pairs if pair.question in reserved]
        trained += [pair for pair in pairs if pair.question not in reserved]
        print(f"{source}: {len(pairs):,} pairs, of which {len(held_out[source]):,} are held out", flush=True)
    published = read_weights(find_model_folder())
    network = AnswerNetwork(find_model_folder())
    if options.start:
        network.load(*read_trained(options.start, published))
    print("before:", network.evaluate(held_out), flush=True)
    network.train(trained)
    print("after: ", network.evaluate(held_out), flush=True)
    write_differences(options.out, published, *network.weights())


def _reserve_questions(pairs: Sequence[Pair]) -> set[str]:
    """Return the questions whose pairs are not trained with."""
    questions = sorted({pair.question for pair in pairs})
    random.Random(9).shuffle(questions)
    return set(questions[: min(_MAX_HELD_OUT, len(questions) // _SHARE_HELD_OUT)])


if __name__ == "__main__":
    main()
