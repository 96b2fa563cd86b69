"""What the client returns. Field names are those of the API in Python's spelling: `documentId` is `document_id`."""

import dataclasses
import datetime
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self


def api_name(name: str) -> str:
    """Return the API's name of a field: `document_id` → `documentId`."""
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)


@dataclass(frozen=True, slots=True)
class Model:
    """Made from a JSON object. Fields that this version does not know are ignored."""

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Self:
        """Return the model of the API's object."""
        hints = typing.get_type_hints(cls)
        names = {item.name: api_name(item.name) for item in dataclasses.fields(cls)}
        values = {name: _convert(hints[name], body[key]) for name, key in names.items() if key in body}
        return cls(**values)


def _convert(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(hint, types.UnionType):
        hint = next(member for member in typing.get_args(hint) if member is not type(None))
    if typing.get_origin(hint) is tuple:
        return tuple(_convert(typing.get_args(hint)[0], item) for item in value)
    if isinstance(hint, type) and issubclass(hint, Model):
        return hint.from_json(value)
    return datetime.datetime.fromisoformat(value) if hint is datetime.datetime else value


@dataclass(frozen=True, slots=True)
class Source(Model):
    """A data source."""

    id: str
    slug: str
    name: str
    description: str
    organization: str
    visibility: str
    source_type: str
    embedding_model: str
    created_at: datetime.datetime
    updated_at: datetime.datetime


@dataclass(frozen=True, slots=True)
class Document(Model):
    """A document of a data source, without its text."""

    id: str
    path: str
    title: str
    uri: str | None
    lang: str | None
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Passage(Model):
    """A part of a document that fits a query. `start` and `end` are offsets in the document's text."""

    document_id: str
    chunk_id: str
    data_source_id: str
    title: str
    path: str
    uri: str | None
    text: str
    score: float
    start: int
    end: int
    headings: tuple[str, ...]
    tags: tuple[str, ...]
    metadata: dict[str, Any]

    def description(self) -> dict[str, Any]:
        """Return everything but the text as one dictionary. The document's own metadata replaces no field."""
        names = [item.name for item in dataclasses.fields(self) if item.name not in ("text", "metadata")]
        values = {name: getattr(self, name) for name in names}
        as_json = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
        return {**self.metadata, **as_json}


@dataclass(frozen=True, slots=True)
class Citation(Model):
    """What a marker such as [1] in an answer refers to."""

    number: int
    document_id: str
    chunk_id: str
    data_source_id: str
    title: str
    path: str
    uri: str | None
    quote: str
    page: int | None


@dataclass(frozen=True, slots=True)
class Answer(Model):
    """A grounded answer. If the documents do not contain it, `is_groundable` is false and `answer` says so."""

    answer: str
    confidence: float
    is_groundable: bool
    citations_used: tuple[Citation, ...]
    documents: tuple[Passage, ...]
    warnings: tuple[str, ...]
    model: str | None


@dataclass(frozen=True, slots=True)
class AnswerEvent:
    """A part of an answer in progress.

    Attributes:
        text: The next part of the text; empty in other events.
        passages: What was found, before anything is written.
        answer: The complete answer, in the last event. It replaces the text.
    """

    text: str = ""
    passages: tuple[Passage, ...] = ()
    answer: Answer | None = None


@dataclass(frozen=True, slots=True)
class Progress(Model):
    """How many documents of a job have ended."""

    documents: int
    done: int
    failed: int


@dataclass(frozen=True, slots=True)
class JobError(Model):
    """Why a document of a job failed."""

    index: int
    path: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Job(Model):
    """A submission of documents, which workers process."""

    job_id: str
    status: str
    chunks: int
    progress: Progress
    errors: tuple[JobError, ...]

    @property
    def is_finished(self) -> bool:
        """Whether no document is waiting or being processed any more."""
        return self.status in ("completed", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A text to ingest. `path` identifies it in its data source."""

    path: str
    text: str
    title: str = ""
    uri: str = ""
    lang: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the API's object, without empty fields."""
        values = {item.name: getattr(self, item.name) for item in dataclasses.fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items() if value}
