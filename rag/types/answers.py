"""Prompts, answers, and how well the sources support them."""

import uuid
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TypeVar

from .passages import Passage, Retrieval


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a chat with a language model. `role` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class GenerationOptions:
    """How to generate a text.

    Attributes:
        model: The language model's name; empty for the configured one.
        temperature: The sampling temperature, 0…2; None for the model's default.
        stream: Whether to yield the text in parts while it is generated.
    """

    model: str = ""
    temperature: float | None = None
    stream: bool = False


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """How to answer a question.

    Attributes:
        max_prompt_tokens: Token budget of the prompt.
        template: The prompt template; empty for the default one.
        strict: Raise an error if the sources do not support an answer, instead of returning a refusal.
    """

    max_prompt_tokens: int
    template: str = ""
    strict: bool = False
    generation: GenerationOptions = field(default_factory=GenerationOptions)


@dataclass(frozen=True, slots=True)
class Context:
    """A prompt within its token budget.

    Attributes:
        passages: The passages that fit into the budget, best first.
        token_count: Tokens of the whole prompt, counted with the language model's tokenizer.
        numbered_passages: The passages as the prompt shows them, cited as [1], [2] and so on: adjacent passages are
            merged, repeated ones are left out.
    """

    prompt: str
    passages: tuple[Passage, ...]
    token_count: int
    numbered_passages: tuple[Passage, ...] = ()


@dataclass(frozen=True, slots=True)
class Grounding:
    """Whether the passages are sufficient to answer the question.

    Attributes:
        score: The probability that the passages contain the answer, 0…1.
        relevant: The passages to answer from.
        gaps: Parts of the question that no passage mentions, in the words of the question.
        warnings: Codes of optional steps that failed (GROUNDING_FAILED).
    """

    is_groundable: bool
    score: float
    relevant: tuple[Passage, ...]
    gaps: tuple[str, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Citation:
    """A quote that supports a statement of an answer.

    Attributes:
        number: The passage's number in the prompt, from 1.
        quote: The part of the passage that supports the statement.
        start: Character offset of the quote in the document: `text[start:end] == quote`.
        end: Character offset of the quote's end in the document, exclusive.
        pages: The pages of the quote's first and last character; None where they are unknown.
    """

    number: int
    passage: Passage
    quote: str
    start: int
    end: int
    pages: tuple[int | None, int | None] = (None, None)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer and its citations.

    Attributes:
        confidence: How likely the answer is supported, 0…1.
        model: The language model's name, "extractive" for quoted sentences, empty if nothing was generated.
        citations_dropped: How many citations the language model wrote that were removed, because no passage has that
            number or the passage does not support the sentence.
        unsupported_sentences: The sentences that were removed, because none of the passages that they cite supports
            them, or because they stood at the end, cited nothing and were not supported.
    """

    text: str
    citations: tuple[Citation, ...]
    confidence: float
    model: str
    warnings: tuple[str, ...] = ()
    citations_dropped: int = 0
    unsupported_sentences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """The validation of one sentence of an answer.

    Attributes:
        start: Character offset of the sentence in the answer.
        end: Character offset of the sentence's end in the answer, exclusive.
        score: How well the context supports the sentence, 0…1.
        context_span: Start and end of the most similar sentence of the context, None if no sentence is similar.
        unknown_terms: Numbers and names of the sentence that the context does not contain.
    """

    text: str
    start: int
    end: int
    is_supported: bool
    score: float
    context_span: tuple[int, int] | None
    unknown_terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Validation:
    """Whether the context supports an answer.

    Attributes:
        score: How well the context supports the answer, 0…1.
        details: A summary for people.
        sentences: The sentences that state something, in order.
    """

    is_valid: bool
    score: float
    details: str
    sentences: tuple[CheckedSentence, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerResult:
    """The output of the query pipeline (pipeline contract, sub-contracts 2 to 5)."""

    retrieval: Retrieval
    context: Context
    grounding: Grounding
    answer: Answer


@dataclass(frozen=True, slots=True)
class Confidence:
    """The confidence of the retrieval contract.

    Attributes:
        mean_similarity: Mean cosine similarity of the best passages, 0…1.
        level: The level: high, medium or low.
    """

    mean_similarity: float
    level: str


@dataclass(frozen=True, slots=True)
class ConfidentAnswer:
    """An answer of the retrieval contract. `model` is empty if confidence is low, so that nothing was generated."""

    retrieval: Retrieval
    confidence: Confidence
    text: str
    model: str


@dataclass(frozen=True, slots=True)
class ChatReply:
    """A reply of the chat. `retrieval` is None if the request did not ask for retrieval."""

    text: str
    conversation_id: uuid.UUID
    retrieval: Retrieval | None


Result = TypeVar("Result")
# A streamed answer: yields the Retrieval, then parts of the text; returns the complete result.
AnswerEvents = Generator[Retrieval | str, None, Result]
