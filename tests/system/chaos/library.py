"""The documents that go in: a path, and its versions in the order in which they are sent."""

import random
from collections.abc import Iterable
from dataclasses import dataclass

from rag.types import Submission

_BEGINNINGS = ("ba", "de", "fi", "go", "lu", "ma", "ne", "po", "ri", "su", "ta", "ve")
_ENDS = ("ck", "ld", "mp", "nt", "rk", "st")


@dataclass(frozen=True, slots=True)
class Book:
    """A document: what is stored of it before the run, if anything, and then what is sent while faults happen."""

    path: str
    before: Submission | None
    sent: tuple[Submission, ...]

    @property
    def versions(self) -> list[Submission]:
        return [*([self.before] if self.before else []), *self.sent]


class Author:
    """Writes documents at random, the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def book(self, path: str, *, exists: bool, mark: str = "", sections: int = 2, rewritten: bool = False) -> Book:
        """mark: a word that is in the last section of what is sent, and nowhere else. rewritten: as a whole."""
        text = self.text(sections)
        before = self.submission(path, self.text(2) if rewritten else text) if exists else None
        edited = self.edited(text) if exists else text
        return Book(path, before, (self.submission(path, edited + (f"\n\n{self.prose(2)} {mark}." if mark else "")),))

    def any_book(self, path: str) -> Book:
        """New, changed, sent again unchanged, or changed twice in a row."""
        text = self.text(self._random.choice([1, 2, 3, 20]))
        first = self.submission(path, text)
        edited = self.submission(path, self.edited(text))
        again = self.submission(path, self.edited(edited.text))
        before, sent = self._random.choice(
            [(None, (first,)), (first, (edited,)), (first, (first,)), (first, (edited, again)), (None, (first, edited))]
        )
        return Book(path, before, sent)

    def submission(self, path: str, text: str) -> Submission:
        tags = tuple(sorted(self._random.sample(["blue", "green", "red"], k=2)))
        metadata = {"words": len(text.split())}
        # No language on earth: nothing to be detected.
        return Submission(path=path, title=f"About {path}", text=text, lang="eo", tags=tags, metadata=metadata)

    def text(self, sections: int) -> str:
        return "\n\n".join(f"# {self.prose(2)}\n\n{self.prose(40)}" for _ in range(sections))

    def edited(self, text: str) -> str:
        """As people do: a section is rewritten, another one is added, the others stay."""
        parts = text.split("\n\n")
        parts[self._random.randrange(1, len(parts), 2)] = self.prose(40)
        return "\n\n".join([*parts, f"# {self.prose(2)}", self.prose(30)])

    def prose(self, words: int) -> str:
        return " ".join(self._word() for _ in range(words))

    def _word(self) -> str:
        return f"{self._random.choice(_BEGINNINGS)}{self._random.choice(_ENDS)}{self._random.randrange(100)}"


def waves(books: Iterable[Book]) -> list[list[Submission]]:
    """What is sent, a list for each job: every path at most once in each, its versions in their order."""
    found: list[list[Submission]] = []
    for book in books:
        for number, submission in enumerate(book.sent):
            if len(found) == number:
                found.append([])
            found[number].append(submission)
    return found
