"""Files of many programs hold what people see in them (the data set's expected.jsonl, by the rule in its SOURCE.md)."""

import json
import os
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from rag.parsing import registry

# Beside the checkout, or where the environment says.
FOLDER = Path(os.environ.get("RAG_TEST_DOCUMENTS", Path(__file__).parents[3] / "shared" / "datasets" / "documents"))
EXPECTED = FOLDER / "expected.jsonl"
CASES = [json.loads(line) for line in EXPECTED.read_text().splitlines()] if EXPECTED.is_file() else []


def normal(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).split())


@pytest.mark.skipif(not CASES, reason="the data set is not there")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"])
def test_file_holds_what_is_seen_in_it(case: dict[str, Any]) -> None:
    parsed = registry.read(FOLDER / case["file"], content_type="", name=case["file"])
    text = normal(parsed.text)
    assert [wanted for wanted in case["must_contain"] if normal(wanted) not in text] == []
    assert [unwanted for unwanted in case.get("must_not_contain", []) if normal(unwanted) in text] == []
    assert not re.match(r"---\n", parsed.text), "front matter"
    if case["file"].endswith((".pdf", ".pptx")):
        assert parsed.pages
        assert parsed.pages[0].start == 0
    for heading in parsed.headings:
        first_line = parsed.text[heading.start :].lstrip("# ").split("\n")[0]
        assert normal(heading.title)[:40] in normal(first_line)
