"""Trains the model of rag/providers/entailment/answer_check.py, which judges whether a text answers a question:

    python -m benchmarks.training.answer_check SQUAD.json FOLDER… [--selqa FILE…] [--judged FILE.jsonl]
        [--written FILE.jsonl…] [--twins FILE.jsonl…] [--measuring FILE…] [--start answer_check.npz]
        --out answer_check.npz

The first file is one of SQuAD 1.1 or 2.0, and each folder has one organisation's documentation in Markdown. Files of
SelQA, judged answers of the product and questions written by hand (benchmarks/data) are optional. Articles of SQuAD
that the files after --measuring contain are left out. With --start the training continues from these differences,
otherwise from the published weights. torch and transformers are needed for this only, so they are not among the
requirements. A thousand batches of 40 pairs take half an hour on one core.
"""

import argparse
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.support.set_up import set_up_django
from benchmarks.training.answer_check.sources import add_arguments, read_pairs

if TYPE_CHECKING:
    from benchmarks.training.multilingual_check.groups import Group

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
    from benchmarks.training.answer_check.twin_pairs import read_twins
    from benchmarks.training.answer_check.written_pairs import read_written
    from benchmarks.training.multilingual_check.groups import Group, group_pairs
    from rag.providers.embedders.bert_graph import read_weights
    from rag.providers.embedders.minilm_files import find_model_folder

    trained: list[Group] = []
    held_out: dict[str, list[Group]] = {}
    for source, pairs in read_pairs(options).items():
        groups = group_pairs(pairs)
        reserved = _reserve_questions(groups)
        held_out[source] = [group for group in groups if group.question in reserved]
        trained += [group for group in groups if group.question not in reserved]
        print(f"{source}: {len(groups):,} questions, of which {len(held_out[source]):,} are held out", flush=True)
    written, held_out["written"] = read_written(options.written, random.Random(5))
    twins, held_out["twins"] = read_twins(options.twins, random.Random(6))
    trained += written + twins
    published = read_weights(find_model_folder())
    network = AnswerNetwork(find_model_folder())
    if options.start:
        network.load(*read_trained(options.start, published))
    print("before:", network.evaluate(held_out), flush=True)
    network.train(trained)
    print("after: ", network.evaluate(held_out), flush=True)
    write_differences(options.out, published, *network.weights())


def _reserve_questions(groups: Sequence["Group"]) -> set[str]:
    """Return the questions that are not trained with."""
    questions = sorted({group.question for group in groups})
    random.Random(9).shuffle(questions)
    return set(questions[: min(_MAX_HELD_OUT, len(questions) // _SHARE_HELD_OUT)])


if __name__ == "__main__":
    main()
