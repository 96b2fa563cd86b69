"""Prompts, what is made of them, and how far it can be relied on."""

import uuid
from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeVar

from .search import Passage, Retrieval


@dataclass(frozen=True, slots=True)
class Message:
    """One turn for a language model. role: system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class GenerationOptions:
    """How to generate. model: empty for the configured one. temperature: 0…2, None for the model's own default.

    stream: hand the text on in pieces as they are made.
    """

    model: str = ""
    temperature: float | None = None
    stream: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """A prompt within its token budget. passages: those that fit, best first.

    token_count: of the whole prompt, as its model counts. numbered: what stands under each number, the n-th being cited
    as [n]: the passages, neighbours joined and repetitions left out.
    """

    prompt: str
    passages: tuple[Passage, ...]
    token_count: int
    numbered: tuple[Passage, ...] = ()


@dataclass(frozen=True, slots=True)
class Grounding:
    """Whether the passages can carry an answer. score: 0…1. gaps: what the question asks for and no passage holds, in
    the asker's words. warnings: codes of steps that failed and were done without (GROUNDING_FAILED)."""

    is_groundable: bool
    score: float
    relevant: tuple[Passage, ...]
    gaps: tuple[str, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Citation:
    """number: 1-based, as the prompt numbers its passages. quote: the part of the passage that is relied on.

    start, end: the quote's characters in the document's text: text[start:end] == quote. pages: of its first and last
    character, as near as they are known.
    """

    number: int
    passage: Passage
    quote: str
    start: int
    end: int
    pages: tuple[int | None, int | None] = (None, None)


@dataclass(frozen=True, slots=True)
class Answer:
    """confidence: 0…1. model: what wrote it ("extractive" for quoted sentences); empty if nothing was generated.

    citations_dropped: numbers that the model wrote and the text has no more, because they name no passage, or one that
    does not have what is said. unsupported: the sentences that are left without any citation by that.
    """

    text: str
    citations: tuple[Citation, ...]
    confidence: float
    model: str
    warnings: tuple[str, ...] = ()
    citations_dropped: int = 0
    unsupported: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """A sentence at start … end of an answer. score: 0…1. span: start and end of the context's sentence that comes
    nearest to it, None if none does. unknown: numbers and names in it that the context does not have."""

    text: str
    start: int
    end: int
    supported: bool
    score: float
    span: tuple[int, int] | None
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Validation:
    """Whether an answer is carried by its context. score: 0…1. details: a sentence for people. sentences: those that
    say something."""

    is_valid: bool
    score: float
    details: str
    sentences: tuple[CheckedSentence, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerResult:
    """A question's whole way (the pipeline contract, sub-contracts 2 to 5)."""

    retrieval: Retrieval
    context: Context
    grounding: Grounding
    answer: Answer


@dataclass(frozen=True, slots=True)
class Confidence:
    """mean: of the best passages' cosines, 0…1. level: high, medium or low (the retrieval contract)."""

    mean: float
    level: str


@dataclass(frozen=True, slots=True)
class ConfidentAnswer:
    """model: empty if nothing was generated, because confidence is low."""

    retrieval: Retrieval
    confidence: Confidence
    text: str
    model: str


@dataclass(frozen=True, slots=True)
class ChatReply:
    """retrieval: None if the chat did not ask for it."""

    text: str
    conversation_id: uuid.UUID
    retrieval: Retrieval | None


Result = TypeVar("Result")
# An answer on its way: yields the Retrieval once it is there, then the text in pieces; returns everything.
AnswerEvents = Generator[Retrieval | str, None, Result]
