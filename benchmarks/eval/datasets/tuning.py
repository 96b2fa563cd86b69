"""What was tuned on a set: its figures are then no independent test.

A set says so itself, in a line of its file `tuning.txt`. Sets that the project does not contain are named here.
"""

from pathlib import Path

NOT_STATED = "not stated"
_GROUNDING = "probability of the grounding"  # docs/decisions/0027-grounding.md
_OTHER_SETS = {
    "retrieval/squad": _GROUNDING,
    "retrieval/codebase": _GROUNDING,
    "retrieval/cranfield": _GROUNDING,
    "retrieval/cisi": "no",
    "chunking/chroma": "confidence",  # docs/answer-quality.md, "Confidence"
}


def read(folder: Path, kind: str, name: str) -> str:
    """Return what was tuned on a set, "no" for nothing, or that it is not stated.

    Args:
        folder: The folder of the sets.
        kind: The kind of the set.
        name: The set's name. Groundability in a corpus is measured with a set for retrieval, without a set of cases.
    """
    file = folder / kind / name / "tuning.txt"
    if file.is_file():
        return " ".join(file.read_text().split()) or NOT_STATED
    if kind == "groundability" and not file.parent.is_dir():
        return read(folder, "retrieval", name.removesuffix(" (corpus)"))
    return _OTHER_SETS.get(f"{kind}/{name}", NOT_STATED)
