"""docs/conformance.md and docs/security-tests.md say which test checks what: every test that they name exists."""

import ast
import re
from pathlib import Path

from tests.support.checks.snapshots import FOLDER

TESTS = Path(__file__).parents[1]
TABLES = [TESTS.parent / "docs" / name for name in ("conformance.md", "security-tests.md")]
ROW = re.compile(r"\| (?P<section>[^|]+) \| (?P<sentence>[^|]+) \| (?P<tests>`[\w/]+::\w+`(, `[\w/]+::\w+`)*) \|")


def rows() -> list[re.Match[str]]:
    lines = [line for table in TABLES for line in table.read_text().splitlines() if line.startswith("| ")]
    entries = [line for line in lines if not line.startswith(("| section ", "| --- "))]
    matches = [ROW.fullmatch(line) for line in entries]
    assert all(matches), [line for line, match in zip(entries, matches, strict=True) if not match]
    return [match for match in matches if match]


def functions(file: Path) -> set[str]:
    return {node.name for node in ast.parse(file.read_text()).body if isinstance(node, ast.FunctionDef)}


def test_every_named_test_exists() -> None:
    names = {name for row in rows() for name in re.findall(r"`([^`]+)`", row["tests"])}
    assert len(names) > 100
    for name in sorted(names):
        module, _, function = name.partition("::")
        assert function in functions(TESTS / f"{module}.py"), name


def test_no_row_is_repeated() -> None:
    sentences = [(row["section"], row["sentence"], row["tests"]) for row in rows()]
    assert len(sentences) == len(set(sentences))


def test_every_snapshot_is_compared() -> None:
    """Each accepted body is named by a test, and each named body is stored."""
    code = "".join(file.read_text() for file in TESTS.rglob("test_*.py"))
    names = set(re.findall(r'snapshots\.assert_matches\(\s*"([\w-]+)"', code))
    assert names == {file.stem for file in FOLDER.glob("*.json")}
