"""A folder with random edits, renamings and deletions."""

import random
from dataclasses import dataclass, field
from pathlib import Path

_WORDS = [
    "lamp",
    "window",
    "river",
    "garden",
    "copper",
    "letter",
    "winter",
    "engine",
    "market",
    "bridge",
    "silver",
    "pepper",
    "ladder",
    "anchor",
    "velvet",
]


@dataclass
class Round:
    """What one round of edits did. `renamed`: old → new path of files whose content stayed."""

    edited: set[str] = field(default_factory=set)
    renamed: dict[str, str] = field(default_factory=dict)


class EditedFolder:
    """Attributes: `files`: path → sections of the text. Every section is different."""

    def __init__(self, folder: Path, chance: random.Random, *, number: int) -> None:
        self.folder, self._chance, self._counter = folder, chance, 0
        self.files: dict[str, list[str]] = {}
        for _ in range(number):
            self._create()

    def edit(self, number: int) -> Round:
        """Change the folder: four of ten times a section, else a name, a deletion or a new file."""
        done = Round()
        for _ in range(number):
            untouched = [path for path in self.files if path not in done.edited | set(done.renamed.values())]
            path = self._chance.choice(untouched)
            action = self._chance.choices(["edit", "rename", "delete", "create"], [4, 2, 2, 2])[0]
            if action == "edit":
                sections = self.files[path]
                sections[self._chance.randrange(len(sections))] = self._section()
                self._write(path)
                done.edited.add(path)
            elif action == "rename":
                new_path = self._new_path()
                (self.folder / new_path).parent.mkdir(exist_ok=True)
                (self.folder / path).rename(self.folder / new_path)
                self.files[new_path] = self.files.pop(path)
                done.renamed[path] = new_path
            elif action == "delete":
                (self.folder / path).unlink()
                del self.files[path]
            else:
                done.edited.add(self._create())
        return done

    def texts(self) -> dict[str, str]:
        return {path: "\n\n".join(sections) for path, sections in self.files.items()}

    def _create(self) -> str:
        path = self._new_path()
        self.files[path] = [self._section() for _ in range(self._chance.randrange(1, 6))]
        self._write(path)
        return path

    def _new_path(self) -> str:
        self._counter += 1
        return f"part{self._chance.randrange(8)}/file{self._counter}.md"

    def _section(self) -> str:
        self._counter += 1
        words = " ".join(self._chance.choices(_WORDS, k=25))
        return f"# Section {self._counter}\n\nNumber {self._counter} tells of {words}."

    def _write(self, path: str) -> None:
        (self.folder / path).parent.mkdir(exist_ok=True)
        (self.folder / path).write_text(self.texts()[path])
