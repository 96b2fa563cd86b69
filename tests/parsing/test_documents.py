"""Files of many programs are parsed to the text that people see (expected.jsonl of the data set; see its SOURCE.md)."""

import os
from pathlib import Path
from typing import Any

import pytest

from benchmarks.eval.datasets import documents

# Beside the checkout, or where the environment says.
FOLDER = Path(os.environ.get("RAG_TEST_DOCUMENTS", Path(__file__).parents[3] / "shared" / "datasets" / "documents"))
CASES = documents.expected(FOLDER)


@pytest.mark.skipif(not CASES, reason="the data set is missing")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"])
def test_file_contains_the_expected_text(case: dict[str, Any]) -> None:
    assert documents.faults(FOLDER, case) == []
