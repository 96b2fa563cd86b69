"""Trains the model of rag/providers/entailment/multilingual, which judges texts in any language:

    python -m benchmarks.training.multilingual_check SQUAD.json FOLDER… [--selqa FILE…] [--judged FILE.jsonl]
        [--measuring FILE…] --ntrex FOLDER --tatoeba FOLDER [--messages FOLDER…] [--steps 4000]
        [--start differences.npz] [--twins FILE.jsonl…] [--other-twins FILE.jsonl…] [--others FILE.json…]
        --out differences.npz

The first files are those of benchmarks.training.answer_check: all in English. Their words are replaced by translations,
and sentences ask for their translations (`parallel_texts.py` says where those are from). torch is needed for this only,
so it is not among the requirements. 100 steps, each of about 30 pairs, take 90 seconds on one core.

With --start, weights that were trained before are trained further with questions that one of two similar passages
answers (benchmarks/data), in English with replaced words and in other languages. All other groups keep the logits that
they have: those of the files above, and those of files like SQuAD in other languages (--others).
"""

import argparse
import random
from pathlib import Path

import numpy as np

from benchmarks.support.set_up import set_up_django
from benchmarks.training.answer_check.sources import add_arguments, read_pairs
from benchmarks.training.questions import read_squad

# How often a group of each source is drawn. The paragraphs are those of SQuAD, too.
_SHARES = {"paragraphs": 0.33, "squad": 0.2, "selqa": 0.05, "documentation": 0.05, "judged": 0.11, "invented": 0.26}
# How often a group is English, or a sentence that asks for its translation.
_FIRST_SHARES = {"english": 0.88, "translated": 0.12}
# The same when a network is trained further. The first three keep their logits.
_FURTHER_SHARES = {"english": 0.25, "translated": 0.16, "others": 0.21, "twins": 0.16, "other twins": 0.22}
_STEPS = 4000
_HELD_OUT = 60


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training.multilingual_check")
    add_arguments(parser)
    parser.add_argument("--steps", type=int, default=_STEPS)
    parser.add_argument("--ntrex", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--tatoeba", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--messages", type=Path, nargs="*", default=[], metavar="FOLDER")
    parser.add_argument("--start", type=Path, help="continue from these differences, with a lower rate")
    parser.add_argument("--other-twins", type=Path, nargs="*", default=[], help="twins in other languages")
    parser.add_argument("--others", type=Path, nargs="*", default=[], help="files like SQuAD in other languages")
    options = parser.parse_args()
    set_up_django()
    from benchmarks.training.answer_check.twin_pairs import read_twins
    from benchmarks.training.multilingual_check.groups import (
        alternate,
        compare_in_any_language,
        draw,
        group_pairs,
        keep_logits,
        paragraph_groups,
        repeat,
    )
    from benchmarks.training.multilingual_check.mixed_languages import mix_languages
    from benchmarks.training.multilingual_check.network import CheckNetwork
    from benchmarks.training.multilingual_check.parallel_texts import parallel_groups, read_parallel_texts
    from benchmarks.training.multilingual_check.train import evaluate, train, train_further
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
    parallel = read_parallel_texts(options.ntrex, options.tatoeba, options.messages)
    translations = find_translations(texts, vocabulary, parallel)
    network, pieces = CheckNetwork(file), PieceSplitter(hash_pieces(vocabulary, file.scores), file.replacements)
    english = (mix_languages(group, translations, generator) for group in draw(trained, _SHARES, generator))
    streams = {"english": english, "translated": parallel_groups(parallel, generator)}
    if options.start:
        network.load(options.start)
        others = [
            group for file in options.others for group in paragraph_groups(*read_squad(file, generator), generator)
        ]
        twins, held_out["twins"] = read_twins(options.twins, generator)
        other_twins, held_out["other twins"] = read_twins(options.other_twins, generator, compare_in_any_language)
        mixed = (mix_languages(group, translations, generator) for group in repeat(twins, generator))
        streams = {
            **{name: keep_logits(stream) for name, stream in streams.items()},
            **({"others": keep_logits(repeat(others, generator))} if others else {}),
            **({"twins": mixed} if twins else {}),
            **({"other twins": repeat(other_twins, generator)} if other_twins else {}),
        }
        train_further(network, pieces, alternate(streams, _FURTHER_SHARES, generator), options.steps)
    else:
        train(network, pieces, alternate(streams, _FIRST_SHARES, generator), options.steps)
    print({name: evaluate(network, pieces, of_source) for name, of_source in held_out.items()}, flush=True)
    np.savez_compressed(options.out, **network.differences())  # type: ignore[arg-type]  # none is named allow_pickle


if __name__ == "__main__":
    main()
