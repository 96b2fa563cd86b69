"""What text recognition has read on a page."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag.types import Recognition

if TYPE_CHECKING:
    from .lines import Line


@dataclass(frozen=True, slots=True)
class RecognizedPage:
    """The lines of a page in the order of its text, what reading it took, and its text as Markdown."""

    lines: "tuple[Line, ...]"
    recognition: Recognition
    text: str = ""
