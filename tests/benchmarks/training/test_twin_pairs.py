"""Questions that one of two similar passages answers are read with its quote and the most similar ones of the other."""

import json
import random
from pathlib import Path

from benchmarks.training.answer_check.quotable import is_held_out
from benchmarks.training.answer_check.twin_pairs import read_twins

DEPOSITS = "| Boat | Deposit |\n| --- | --- |\n| Raft | 30 euros |"
HIRE = f"A canoe costs 12 euros a day. Rafts are hired out by the week.\n\n{DEPOSITS}"
STORE = "Two canoes lie on the upper rack. Rafts weigh 80 kg. The shed is locked at dusk."
QUESTIONS = [
    {"q": "What do I pay for a canoe?", "in": 0, "quote": "A canoe costs 12 euros a day."},
    {"q": "raft deposit", "in": 0, "quote": ["| Raft | 30 euros |"]},
    {"q": "How heavy is a raft?", "in": 1, "quote": "Rafts weigh 80 kg."},
]


def write(file: Path, organization: str) -> Path:
    twins = {
        "org": organization,
        "lang": "en",
        "titles": ["Hire", "Store"],
        "headings": ["What boats cost", "Where boats are"],
        "texts": [HIRE, STORE],
        "questions": QUESTIONS,
    }
    file.write_text(f"{json.dumps(twins)}\n")
    return file


def organization_that(*, is_held_out_one: bool) -> str:
    return next(name for name in map(str, range(99)) if is_held_out(name) == is_held_out_one)


def test_wrong_quotes_are_those_of_the_twin_and_others_of_the_same_passage(tmp_path: Path) -> None:
    file = write(tmp_path / "twins.jsonl", organization_that(is_held_out_one=False))
    groups = [group for seed in range(12) for group in read_twins([file], random.Random(seed))[0]]
    texts = {
        item["q"]: [text for group in groups if group.question == item["q"] for text in group.texts]
        for item in QUESTIONS
    }
    assert ("What boats cost\nA canoe costs 12 euros a day.", True) in texts["What do I pay for a canoe?"]
    for text, is_right in texts["What do I pay for a canoe?"]:
        assert ("12 euros" in text) == is_right, text
    for text, is_right in texts["raft deposit"]:
        assert ("Raft — Deposit: 30 euros" in text) == is_right, text
    for text, is_right in texts["How heavy is a raft?"]:
        assert ("80 kg" in text) == is_right, text
    wrong = [text for text, is_right in texts["How heavy is a raft?"] if not is_right]
    assert any("Raft — Deposit" in text or "hired out" in text for text in wrong)
    assert any("upper rack" in text or "locked at dusk" in text for text in wrong)
    assert all([is_right for _, is_right in group.texts].count(True) == 1 < len(group.texts) for group in groups)


def test_twins_of_whole_organisations_are_held_out(tmp_path: Path) -> None:
    files = [
        write(tmp_path / f"{is_held_out_one}.jsonl", organization_that(is_held_out_one=is_held_out_one))
        for is_held_out_one in (True, False)
    ]
    trained, held_out = read_twins(files, random.Random(1))
    assert len(trained) == len(held_out) == 3
    trained, held_out = read_twins(files[:1], random.Random(1))
    assert (len(trained), len(held_out)) == (0, 3)
