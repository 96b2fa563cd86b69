"""Trains the model of rag/providers/entailment/multilingual, which judges texts in any language:

    python -m benchmarks.training.multilingual_check SQUAD.json FOLDER… [--selqa FILE…] [--judged FILE.jsonl]
        [--measuring FILE…] [--steps 1200] --out differences.npz

The files are those of benchmarks.training.answer_check: all in English. Words are replaced by translations that the
multilingual embedding model finds. torch is needed for this only, so it is not among the requirements. 100 steps, each
of about 30 pairs, take 90 seconds on one core.
"""

import argparse
import random

import numpy as np

from benchmarks.support.set_up import set_up_django
from benchmarks.training.answer_check.sources import add_arguments, read_pairs
from benchmarks.training.questions import read_squad

# How often a group of each source is drawn. The paragraphs are those of SQuAD, too.
_SHARES = {"paragraphs": 0.34, "squad": 0.2, "selqa": 0.05, "documentation": 0.06, "judged": 0.07, "invented": 0.28}
_STEPS = 1200
_HELD_OUT = 60


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training.multilingual_check")
    add_arguments(parser)
    parser.add_argument("--steps", type=int, default=_STEPS)
    options = parser.parse_args()
    set_up_django()
    from benchmarks.training.multilingual_check.groups import draw, group_pairs, mix_languages, paragraph_groups
    from benchmarks.training.multilingual_check.network import CheckNetwork
    from benchmarks.training.multilingual_check.train import evaluate, train
    from benchmarks.training.multilingual_check.word_translations import find_translations
    from rag.providers.entailment.multilingual.model_file import ModelFile, find_model_file
    from rag.providers.entailment.multilingual.pieces import PieceSplitter, hash_pieces

    generator = random.Random(3)
    groups = {name: group_pairs(pairs) for name, pairs in read_pairs(options).items()}
    groups["paragraphs"] = list(paragraph_groups(*read_squad(options.squad, generator), generator))
    for of_source in groups.values():
        generator.shuffle(of_source)
    held_out = {name: of_source[:_HELD_OUT] for name, of_source in groups.items()}
    trained = {name: of_source[_HELD_OUT:] for name, of_source in groups.items()}
    file = ModelFile(find_model_file())
    vocabulary = file.pieces()
    texts = (
        text for of_source in trained.values() for group in of_source for text in (group.question, *group.texts[0][:1])
    )
    translations = find_translations(texts, vocabulary)
    print(f"{len(translations):,} words have translations", flush=True)
    network, pieces = CheckNetwork(file), PieceSplitter(hash_pieces(vocabulary, file.scores), file.replacements)
    drawn = (mix_languages(group, translations, generator) for group in draw(trained, _SHARES, generator))
    train(network, pieces, drawn, options.steps)
    print({name: evaluate(network, pieces, of_source) for name, of_source in held_out.items()}, flush=True)
    np.savez_compressed(options.out, **network.differences())  # type: ignore[arg-type]  # none is named allow_pickle


if __name__ == "__main__":
    main()
