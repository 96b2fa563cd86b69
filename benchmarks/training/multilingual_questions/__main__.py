"""Trains the matrix of rag/providers/embedders/multilingual_questions.py:

    python -m benchmarks.training.multilingual_questions train-v1.1.json --out multilingual_questions.npz

The file is SQuAD 1.1's training set. torch is needed for this only, so it is not among the requirements. With 20,000
questions it takes five minutes on one core, most of it to embed the sentences.
"""

import argparse
import random
from pathlib import Path

import numpy as np

from benchmarks.support.set_up import set_up_django
from benchmarks.training.questions import read_squad

_SHARE_HELD_OUT = 12  # one article in so many


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training.multilingual_questions")
    parser.add_argument("squad", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    set_up_django()
    from benchmarks.training.multilingual_questions.articles import embed_articles
    from benchmarks.training.multilingual_questions.train import accuracy, train

    articles = embed_articles(*read_squad(options.squad, random.Random(7)))
    random.Random(9).shuffle(articles)
    count = len(articles) // _SHARE_HELD_OUT
    held_out, trained = articles[:count], articles[count:]
    print(f"before: {accuracy(None, held_out)}", flush=True)
    matrix = train(trained)
    print(f"after: {accuracy(matrix, held_out)}", flush=True)
    np.savez_compressed(options.out, matrix=matrix.numpy().astype(np.float16))


if __name__ == "__main__":
    main()
