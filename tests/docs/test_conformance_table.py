"""docs/conformance.md says which test checks which sentence of the contracts: what it names is there."""

import ast
import re
from pathlib import Path

from tests.support.snapshots import FOLDER

TESTS = Path(__file__).parents[1]
TABLE = TESTS.parent / "docs" / "conformance.md"
ROW = re.compile(r"\| (?P<section>[^|]+) \| (?P<sentence>[^|]+) \| (?P<tests>`[\w/]+::\w+`(, `[\w/]+::\w+`)*) \|")


def rows() -> list[re.Match[str]]:
    lines = [line for line in TABLE.read_text().splitlines() if line.startswith("| ")]
    entries = [line for line in lines if not line.startswith(("| section ", "| --- "))]
    found = [ROW.fullmatch(line) for line in entries]
    assert all(found), [line for line, row in zip(entries, found, strict=True) if not row]
    return [row for row in found if row]


def functions(file: Path) -> set[str]:
    return {node.name for node in ast.parse(file.read_text()).body if isinstance(node, ast.FunctionDef)}


def file_of(place: str) -> Path:
    """`contracts/v3/test_search` is tests/contracts/v3/test_search.py."""
    return TESTS / f"{place}.py"


def test_every_test_that_is_named_exists() -> None:
    named = {name for row in rows() for name in re.findall(r"`([^`]+)`", row["tests"])}
    assert len(named) > 100
    for name in sorted(named):
        place, _, function = name.partition("::")
        assert function in functions(file_of(place)), name


def test_no_sentence_stands_there_twice() -> None:
    said = [(row["section"], row["sentence"], row["tests"]) for row in rows()]
    assert len(said) == len(set(said))


def test_every_snapshot_is_looked_at() -> None:
    """By a test that names it; and each test's snapshot is kept (tests/support/snapshots.py fails without one)."""
    code = "".join(file.read_text() for file in (TESTS / "contracts").rglob("test_*.py"))
    named = set(re.findall(r'snapshots\.matches\(\s*"([\w-]+)"', code))
    assert named == {file.stem for file in FOLDER.glob("*.json")}
