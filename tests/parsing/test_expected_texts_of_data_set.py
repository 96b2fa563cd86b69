"""Files of many programs are parsed to the text that people see (expected.jsonl of the data set; see its SOURCE.md)."""

import os
from pathlib import Path
from typing import Any

import pytest

from benchmarks.eval.runner import parsed_files

# Beside the checkout, or where the environment says.
FOLDER = Path(os.environ.get("RAG_TEST_DOCUMENTS", Path(__file__).parents[3] / "shared" / "datasets" / "documents"))
CASES = parsed_files.expected(FOLDER)


@pytest.mark.skipif(not CASES, reason="the data set is missing")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"])
def test_file_contains_the_expected_text(case: dict[str, Any]) -> None:
    assert parsed_files.faults(FOLDER, case) == []
