"""Real texts: an evaluation set beside the checkout if there is one, otherwise the documentation."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
SQUAD = ROOT.parent / "shared" / "datasets" / "retrieval" / "squad"


def origin() -> str:
    return "the squad set" if SQUAD.exists() else "the documentation"


def documents(limit: int) -> list[dict[str, str]]:
    """Documents with path, title and text."""
    if SQUAD.exists():
        rows = _lines(SQUAD / "corpus.jsonl", limit)
        return [{"path": row["id"], "title": row["title"], "text": row["text"]} for row in rows]
    return documentation(limit)


def documentation(limit: int) -> list[dict[str, str]]:
    """The longer paragraphs of the project's documentation, each as a document."""
    paragraphs = [
        {"path": f"{file.relative_to(ROOT)}#{number}", "title": file.stem, "text": paragraph}
        for file in sorted((ROOT / "docs").rglob("*.md"))
        for number, paragraph in enumerate(file.read_text().split("\n\n"))
        if len(paragraph) > 200
    ]
    return paragraphs[:limit]


def longer(documents: list[dict[str, str]], paragraphs: int = 40) -> list[dict[str, str]]:
    """The same texts, forty of them joined into each document."""
    return [
        {
            "path": f"long-{start}",
            "title": documents[start]["title"],
            "text": "\n\n".join(document["text"] for document in documents[start : start + paragraphs]),
        }
        for start in range(0, len(documents), paragraphs)
    ]


def questions(limit: int) -> list[str]:
    if SQUAD.exists():
        return [row["text"] for row in _lines(SQUAD / "queries.jsonl", limit)]
    # Each question differs, because an embedding that is kept would make both sides of a comparison too short.
    return [f"What is said about {' '.join(document['text'].split()[:8])}?" for document in documents(limit)]


def _lines(file: Path, limit: int) -> list[dict[str, str]]:
    with open(file) as lines:
        return [json.loads(line) for line, _ in zip(lines, range(limit), strict=False)]
