"""Generates documents: a path, and its versions in the order in which they are sent."""

import random
from collections.abc import Iterable
from dataclasses import dataclass

from rag.types import Submission

_BEGINNINGS = ("ba", "de", "fi", "go", "lu", "ma", "ne", "po", "ri", "su", "ta", "ve")
_ENDS = ("ck", "ld", "mp", "nt", "rk", "st")


@dataclass(frozen=True, slots=True)
class DocumentHistory:
    """A document: the version stored before the run, if any, and the versions sent while faults are injected."""

    path: str
    before: Submission | None
    sent: tuple[Submission, ...]

    @property
    def versions(self) -> list[Submission]:
        return [*([self.before] if self.before else []), *self.sent]


class DocumentGenerator:
    """Generates random documents, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def document(
        self, path: str, *, exists: bool, mark: str = "", sections: int = 2, rewritten: bool = False
    ) -> DocumentHistory:
        """Generate a document; `mark` ends the sent version, `rewritten` replaces the whole text."""
        text = self.text(sections)
        before = self.submission(path, self.text(2) if rewritten else text) if exists else None
        edited = self.edited(text) if exists else text
        return DocumentHistory(
            path, before, (self.submission(path, edited + (f"\n\n{self.prose(2)} {mark}." if mark else "")),)
        )

    def random_document(self, path: str) -> DocumentHistory:
        """A document that is new, changed, sent again unchanged, or changed twice in a row."""
        text = self.text(self._random.choice([1, 2, 3, 20]))
        first = self.submission(path, text)
        edited = self.submission(path, self.edited(text))
        edited_twice = self.submission(path, self.edited(edited.text))
        before, sent = self._random.choice(
            [
                (None, (first,)),
                (first, (edited,)),
                (first, (first,)),
                (first, (edited, edited_twice)),
                (None, (first, edited)),
            ]
        )
        return DocumentHistory(path, before, sent)

    def submission(self, path: str, text: str) -> Submission:
        tags = tuple(sorted(self._random.sample(["blue", "green", "red"], k=2)))
        metadata = {"words": len(text.split())}
        # The words belong to no language: name one, so that none is detected.
        return Submission(path=path, title=f"About {path}", text=text, lang="eo", tags=tags, metadata=metadata)

    def text(self, sections: int) -> str:
        return "\n\n".join(f"# {self.prose(2)}\n\n{self.prose(40)}" for _ in range(sections))

    def edited(self, text: str) -> str:
        """Rewrite one section, add another one and keep the rest."""
        parts = text.split("\n\n")
        parts[self._random.randrange(1, len(parts), 2)] = self.prose(40)
        return "\n\n".join([*parts, f"# {self.prose(2)}", self.prose(30)])

    def prose(self, words: int) -> str:
        return " ".join(self._word() for _ in range(words))

    def _word(self) -> str:
        return f"{self._random.choice(_BEGINNINGS)}{self._random.choice(_ENDS)}{self._random.randrange(100)}"


def submission_rounds(documents: Iterable[DocumentHistory]) -> list[list[Submission]]:
    """The submissions of each job: a path at most once in each, its versions in order."""
    stored: list[list[Submission]] = []
    for document in documents:
        for number, submission in enumerate(document.sent):
            if len(stored) == number:
                stored.append([])
            stored[number].append(submission)
    return stored
