"""Questions that people wrote are read with the quotes that answer them, and with similar ones that do not."""

import json
import random
from pathlib import Path

from benchmarks.training.answer_check.quotable import is_held_out
from benchmarks.training.answer_check.written_pairs import read_written

DOGS = "Dogs may come along on a lead. Cats stay at home."
PRICES = "Prices of 2025:\n\n| Boat | Price |\n| --- | --- |\n| Canoe | 12 euros |\n| Raft | 30 euros |"


def written(organization: str, **fields: object) -> str:
    passage = {"org": organization, "lang": "en", "title": "Boats", "heading": "", "answered": [], "near": []}
    return json.dumps(passage | fields)


def write(folder: Path, organization: str) -> Path:
    file = folder / "written.jsonl"
    lines = [
        written(
            organization,
            heading="Animals",
            text=DOGS,
            answered=[
                {"q": "Is my poodle welcome?", "quote": "Dogs may come along on a lead."},
                {"q": "Darf mein Hund mit?", "quote": "Dogs may come along on a lead.", "lang": "de"},
            ],
            near=[{"q": "How long must the lead be?", "why": "length"}],
        ),
        written(
            organization,
            heading="Hire",
            text=PRICES,
            answered=[
                {"q": "How much is a canoe?", "quote": "| Canoe | 12 euros |"},
                {"q": "Boats that cost less than 40?", "quote": ["| Canoe | 12 euros |", "| Raft | 30 euros |"]},
            ],
        ),
        written(organization, lang="de", text="Hunde sind erlaubt.", near=[{"q": "Wie viele Hunde?"}]),
    ]
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


def organization_that(*, is_held_out_one: bool) -> str:
    return next(name for name in map(str, range(99)) if is_held_out(name) == is_held_out_one)


def test_quotes_are_those_of_the_product_below_their_headings(tmp_path: Path) -> None:
    file = write(tmp_path, organization_that(is_held_out_one=False))
    groups = [group for seed in range(12) for group in read_written([file], random.Random(seed))[0]]
    texts = {
        group.question: [text for other in groups if other.question == group.question for text in other.texts]
        for group in groups
    }
    assert set(texts) == {
        "Is my poodle welcome?",
        "How long must the lead be?",
        "How much is a canoe?",
        "Boats that cost less than 40?",
    }
    for text, is_right in texts["Is my poodle welcome?"]:
        assert ("Dogs may come along" in text) == is_right, text
    assert ("Animals\nDogs may come along on a lead.", True) in texts["Is my poodle welcome?"]
    assert not [text for text, is_right in texts["How long must the lead be?"] if is_right]
    assert ("Animals\nDogs may come along on a lead.", False) in texts["How long must the lead be?"]
    assert any(is_right and "Canoe — Price: 12 euros" in text for text, is_right in texts["How much is a canoe?"])
    for text, is_right in texts["Boats that cost less than 40?"]:
        assert ("12 euros" in text and "30 euros" in text) == is_right, text


def test_whole_organisations_are_held_out(tmp_path: Path) -> None:
    names = [organization_that(is_held_out_one=True), organization_that(is_held_out_one=False)]
    files = []
    for number, name in enumerate(names):
        (tmp_path / str(number)).mkdir()
        files.append(write(tmp_path / str(number), name))
    trained, held_out = read_written(files, random.Random(1))
    assert len(trained) == len(held_out) == 4
    trained, held_out = read_written(files[:1], random.Random(1))
    assert (len(trained), len(held_out)) == (0, 4)
