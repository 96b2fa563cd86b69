"""Compares parsed files of many formats with what people see in them (the data set's README has the rules)."""

import json
import re
import unicodedata
from pathlib import Path
from typing import Any

from rag.parsing import parse


def expected(folder: Path) -> list[dict[str, Any]]:
    """What each file must and must not contain; empty if the folder has no such list."""
    file = folder / "expected.jsonl"
    if not file.is_file():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8-sig").split("\n") if line.strip()]


def normal(text: str) -> str:
    """Normalize to NFKC, with one space for each run of white space."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def faults(folder: Path, case: dict[str, Any]) -> list[str]:
    """What is wrong with the parsed text of the case's file. Raises the parser's exceptions."""
    parsed = parse.parse_file(folder / case["file"], content_type="", name=case["file"])
    text = normal(parsed.text)
    problems = [f"missing: {phrase}" for phrase in case.get("must_contain", []) if normal(phrase) not in text]
    problems += [f"unwanted: {unwanted}" for unwanted in case.get("must_not_contain", []) if normal(unwanted) in text]
    if re.match(r"---\n", parsed.text):
        problems.append("front matter")
    if case["file"].endswith((".pdf", ".pptx")) and (not parsed.pages or parsed.pages[0].start):
        problems.append("no pages")
    for heading in parsed.headings:
        first_line = parsed.text[heading.start :].lstrip("# ").split("\n")[0]
        if normal(heading.title)[:40] not in normal(first_line):
            problems.append(f"misplaced heading: {heading.title[:40]}")
    return problems


def measure(folder: Path) -> dict[str, Any]:
    """How many files are parsed correctly, and what is wrong with the others."""
    cases, failures = expected(folder), []
    for case in cases:
        try:
            wrong = faults(folder, case)
        except Exception as error:  # a file that breaks its parser does not stop the others
            wrong = [f"{type(error).__name__}: {error}"]
        if wrong:
            failures.append({"file": str(case.get("file")), "faults": wrong[:10]})
    return {"passed": len(cases) - len(failures), "total": len(cases), "failures": failures}
