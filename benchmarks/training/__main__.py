"""Trains the projection of rag/pipeline/retrieval/reranking/answer_projection.py:

    python -m benchmarks.training train-v1.1.json FOLDER… --out answer_projection.npz

The first file is SQuAD 1.1's training set, and the folders have documentation in Markdown. torch is needed for this
only, so it is not among the requirements. With 19,000 questions about SQuAD and 5,000 about documentation it takes 15
minutes on one core, most of it to embed the texts.
"""

import argparse
import random
from pathlib import Path

import numpy as np

from benchmarks.support.set_up import set_up_django
from benchmarks.training.questions import read_markdown, read_squad

_SHARE_HELD_OUT = 12  # one group of texts in so many


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training")
    parser.add_argument("squad", type=Path)
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    set_up_django()
    from benchmarks.training.embedded_texts import embed_set
    from benchmarks.training.train import evaluate, train

    sets = {
        "squad": embed_set(*read_squad(options.squad, random.Random(7))),
        "documentation": embed_set(*read_markdown(options.folders, random.Random(3))),
    }
    trained, held_out = {}, {}
    for name, (texts, questions) in sets.items():
        groups = sorted({text.group for text in texts})
        random.Random(9).shuffle(groups)
        reserved = set(groups[: len(groups) // _SHARE_HELD_OUT])
        held_out[name] = [question for question in questions if texts[question.text_index].group in reserved]
        trained[name] = [question for question in questions if texts[question.text_index].group not in reserved]
    texts_by_set = {name: texts for name, (texts, _) in sets.items()}
    print("before:", evaluate(None, texts_by_set, held_out), flush=True)
    projection = train(texts_by_set, trained)
    print("after: ", evaluate(projection, texts_by_set, held_out), flush=True)
    matrix, weight, bias = projection.parameters_as_arrays()
    np.savez_compressed(
        options.out, matrix=matrix.astype(np.float16), weight=weight.astype(np.float16), bias=np.float32(bias)
    )


if __name__ == "__main__":
    main()
