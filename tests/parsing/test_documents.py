"""Files of many programs hold what people see in them (the data set's expected.jsonl, by the rule in its SOURCE.md)."""

import os
from pathlib import Path
from typing import Any

import pytest

from benchmarks.eval.datasets import documents

# Beside the checkout, or where the environment says.
FOLDER = Path(os.environ.get("RAG_TEST_DOCUMENTS", Path(__file__).parents[3] / "shared" / "datasets" / "documents"))
CASES = documents.expected(FOLDER)


@pytest.mark.skipif(not CASES, reason="the data set is not there")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"])
def test_file_holds_what_is_seen_in_it(case: dict[str, Any]) -> None:
    assert documents.faults(FOLDER, case) == []
