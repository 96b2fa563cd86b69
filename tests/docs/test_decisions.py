"""Each page of a decision has the sections that docs/decisions/README.md promises, and the README lists each page."""

from pathlib import Path

from . import project

FOLDER = Path("docs/decisions")
SECTIONS = ("Context", "Decision", "Measurements", "What would change it")


def decisions() -> list[Path]:
    return [
        file for file in project.files() if file.parent == FOLDER and file.suffix == ".md" and file.stem != "README"
    ]


def test_every_decision_has_its_sections_in_order() -> None:
    pages = decisions()
    assert len(pages) > 70, pages
    wrong = {}
    for file in pages:
        sections = [title for title in project.headings(file).values() if title in SECTIONS]
        if sections != list(SECTIONS):
            wrong[file.name] = sections
    assert wrong == {}


def test_every_decision_is_listed() -> None:
    index = (project.ROOT / FOLDER / "README.md").read_text()
    assert [file.name for file in decisions() if f"]({file.name})" not in index] == []
