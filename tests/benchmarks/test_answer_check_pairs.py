"""Invented pairs for training: a right quote states the sought property of the thing, and no near miss does."""

import dataclasses
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.training.answer_check.differences import write_differences
from benchmarks.training.answer_check.invented.pairs import Kind, invent_pairs, pairs_about, read_kinds
from benchmarks.training.answer_check.invented.values import fill
from benchmarks.training.answer_check.pairs import read_judged, read_selqa


def with_marked_values(kind: Kind) -> Kind:
    """The value of each property is its number, so that a quote shows which property it states."""
    marked = [dataclasses.replace(item, value=f"<{number}>") for number, item in enumerate(kind.properties)]
    return dataclasses.replace(kind, properties=marked)


def statements_of(quote: str, kind: Kind) -> Iterator[tuple[str, int]]:
    """The things and numbers of properties that a quote states. Without a name a sentence is about the thing before."""
    names = {thing.removeprefix("the ").lower(): thing for thing in kind.things}
    name_pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})(?!\w)")
    thing = ""
    for sentence in re.split(r"\. |\n", quote):
        named = {names[name] for name in name_pattern.findall(sentence.lower())}
        assert len(named) <= 1, sentence
        thing = next(iter(named), thing)
        for number in re.findall(r"<(\d+)>", sentence):
            yield thing, int(number)


@pytest.mark.parametrize("kind", [with_marked_values(kind) for kind in read_kinds()])
def test_only_the_right_quote_states_the_sought_property_of_the_thing(kind: Kind) -> None:
    generator = random.Random(1)
    for number, sought in enumerate(kind.properties):
        for thing in generator.sample(kind.things, 5):
            right, *near_misses = pairs_about(thing, sought, kind, generator)
            assert right.is_right
            assert not any(pair.is_right for pair in near_misses)
            assert (thing, number) in set(statements_of(right.quote, kind)), right
            for pair in near_misses:
                stated = set(statements_of(pair.quote, kind))
                assert stated, pair
                assert (thing, number) not in stated, pair


def test_invented_pairs_have_questions_and_values() -> None:
    pairs = invent_pairs(300, random.Random(2))
    assert len(pairs) == 300
    assert {pair.is_right for pair in pairs} == {True, False}
    assert all(pair.question.endswith("?") for pair in pairs)
    assert not [pair for pair in pairs if re.search(r"[{}]", pair.question + pair.quote)]
    assert pairs == invent_pairs(300, random.Random(2))


def test_patterns_of_values_are_filled() -> None:
    generator = random.Random(3)
    assert re.fullmatch(r"1,\d{3} m", fill("{1000-1999:,} m", generator))
    assert re.fullmatch(r"0\.[2-4]\d", fill("{0.20-0.49}", generator))
    assert re.fullmatch(r"\d{1,2} [A-Z][a-z]+", fill("{1-28} {month}", generator))


def test_judged_answers_are_read_without_citations(tmp_path: Path) -> None:
    file = tmp_path / "judged.jsonl"
    lines = [
        {
            "question": " When does it open? ",
            "answer": f"The hall opens at eight [1]. {'More. ' * 99}",
            "is_right": True,
        },
        {"question": "Why?", "answer": "No. [2]", "is_right": False},
    ]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (pair,) = read_judged(file)
    assert (pair.question, pair.is_right) == ("When does it open?", True)
    assert pair.quote.startswith("The hall opens at eight .")
    assert len(pair.quote) <= 420


def test_the_wrong_sentence_of_selqa_is_the_most_similar_one_beside_no_answer(tmp_path: Path) -> None:
    file = tmp_path / "selqa.json"
    candidates = ["The mill burnt.", "It was in 1850.", "The mill had sails.", "Cows graze.", "The mill was sold."]
    item = {"question": "When was the mill lost?", "article": "Mill", "candidates": candidates, "answers": [1]}
    file.write_text(json.dumps([item, item | {"answers": []}]))
    right, wrong = read_selqa(file, random.Random(1))
    assert (right.quote.removeprefix("Mill\n"), right.is_right) == ("It was in 1850.", True)
    assert (wrong.quote, wrong.is_right) == ("The mill was sold.", False)


def test_differences_are_products_of_narrow_matrices(tmp_path: Path) -> None:
    generator = np.random.default_rng(4)
    published = {"encoder.a.weight": np.ones((50, 60), np.float32), "encoder.a.bias": np.zeros(50, np.float32)}
    narrow = generator.normal(size=(50, 3)) @ generator.normal(size=(3, 60))
    trained = {
        "encoder.a.weight": (1 + narrow).astype(np.float32),
        "encoder.a.bias": np.full(50, 0.5, np.float32),
        "embeddings.weight": np.ones(9, np.float32),
    }
    file = tmp_path / "differences.npz"
    write_differences(
        file, published, trained, {"weight": np.ones((1, 50), np.float32), "bias": np.ones(1, np.float32)}
    )
    with np.load(file) as stored:
        assert set(stored.files) == {
            "encoder.a.weight.left",
            "encoder.a.weight.right",
            "encoder.a.bias",
            "head.weight",
            "head.bias",
        }
        product = stored["encoder.a.weight.left"].astype(np.float32) @ stored["encoder.a.weight.right"]
        np.testing.assert_allclose(product, narrow, atol=0.02)
        np.testing.assert_array_equal(stored["encoder.a.bias"], np.full(50, 0.5, np.float16))
        assert stored["head.weight"].shape == (50,)
