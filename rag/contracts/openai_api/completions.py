"""Answers as chat completions: the whole one, and its chunks (OpenAI API reference, "Chat Completions")."""

import time
import uuid
from typing import Annotated, Literal, NotRequired, TypedDict

from rag.services.queries.agent_tools import source_url
from rag.text.citation_markers import find_markers, parse_numbers
from rag.text.token_counts import count_tokens
from rag.types import AnswerResult, Citation, Retrieval
from ragsite.http.bodies.json_renderer import render_line
from ragsite.http.openapi.field_types import Count, Id, Share

# Precedes the validated answer where it differs from the text that was streamed.
CORRECTION = "\n\nThe documents do not support all of this. The checked answer is:\n\n"


class UrlCitation(TypedDict):
    """`start_index`, `end_index`: of the marker in `content`. `url`: the document's link, or its path. `quote`: the
    part of the document that supports the sentence."""

    start_index: Count
    end_index: Count
    url: str
    title: str
    quote: str
    document_id: Id
    chunk_id: Id
    score: Share


class Annotation(TypedDict):
    type: Annotated[str, {"const": "url_citation"}]
    url_citation: UrlCitation


class CompletionMessage(TypedDict):
    role: Annotated[str, {"const": "assistant"}]
    content: str
    refusal: None
    annotations: list[Annotation]


class Choice(TypedDict):
    index: Count
    message: CompletionMessage
    finish_reason: Literal["stop"]
    logprobs: None


class Usage(TypedDict):
    prompt_tokens: Count
    completion_tokens: Count
    total_tokens: Count


class CompletionOut(TypedDict):
    id: str
    object: Annotated[str, {"const": "chat.completion"}]
    created: Count
    model: str
    choices: list[Choice]
    usage: Usage


class Delta(TypedDict, total=False):
    role: Annotated[str, {"const": "assistant"}]
    content: str
    annotations: list[Annotation]


class ChunkChoice(TypedDict):
    index: Count
    delta: Delta
    finish_reason: Literal["stop"] | None
    logprobs: None


class Chunk(TypedDict):
    """One `data:` line of the stream, which ends with `data: [DONE]`."""

    id: str
    object: Annotated[str, {"const": "chat.completion.chunk"}]
    created: Count
    model: str
    choices: list[ChunkChoice]
    usage: NotRequired[Usage | None]


def completion_out(result: AnswerResult, *, model: str) -> CompletionOut:
    message: CompletionMessage = {
        "role": "assistant",
        "content": result.answer.text,
        "refusal": None,
        "annotations": annotations_out(result, result.answer.text),
    }
    return {
        "id": _completion_id(),
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
        "usage": usage_out(result, result.answer.text),
    }


def usage_out(result: AnswerResult, content: str) -> Usage:
    """Count tokens: of the prompt with its passages, and of the content. For quoted sentences nothing is generated, but
    they are counted, too."""
    completion = count_tokens(content, result.answer.model)
    prompt = result.context.token_count
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def annotations_out(result: AnswerResult, content: str) -> list[Annotation]:
    """Render the citations with the places of their markers in the content, which ends with the answer's text.

    A passage that supports several sentences has one citation for each, in the order of the text.
    """
    offset = len(content) - len(result.answer.text)
    spans: dict[int, list[tuple[int, int]]] = {}
    for start, end in find_markers(result.answer.text):
        for number in parse_numbers(result.answer.text[start:end]):
            spans.setdefault(number, []).append((offset + start, offset + end))
    annotations = []
    for citation in result.answer.citations:
        of_passage = spans.get(citation.number, [])
        if of_passage:  # the last marker may stand for several quotes
            start, end = of_passage.pop(0) if len(of_passage) > 1 else of_passage[0]
            annotations.append(_annotation_out(citation, start, end))
    return annotations


def _annotation_out(citation: Citation, start: int, end: int) -> Annotation:
    passage = citation.passage
    return {
        "type": "url_citation",
        "url_citation": {
            "start_index": start,
            "end_index": end,
            "url": source_url(passage),
            "title": passage.title,
            "quote": citation.quote,
            "document_id": str(passage.document_id),
            "chunk_id": str(passage.chunk_id),
            "score": passage.score,
        },
    }


class ChunkFormat:
    """Renders one streamed answer as chunks. Text that was sent cannot be withdrawn: a correction follows it."""

    def __init__(self, *, model: str, include_usage: bool) -> None:
        self._model, self._include_usage = model, include_usage
        self._id, self._created = _completion_id(), int(time.time())
        self._content = ""

    def render(self, event: Retrieval | str) -> bytes:
        if isinstance(event, Retrieval):
            return self._chunk({"role": "assistant", "content": ""})
        self._content += event
        return self._chunk({"content": event})

    def render_result(self, result: AnswerResult) -> bytes:
        rendered = b""
        self._content = self._content.rstrip()
        if self._content != result.answer.text:
            addition = CORRECTION + result.answer.text
            self._content += addition
            rendered = self._chunk({"content": addition})
        if annotations := annotations_out(result, self._content):
            rendered += self._chunk({"annotations": annotations})
        rendered += self._chunk({}, finish_reason="stop")
        if self._include_usage:
            rendered += _event({**self._empty_chunk(), "choices": [], "usage": usage_out(result, self._content)})
        return rendered + b"data: [DONE]\n\n"

    def render_error(self, body: object) -> bytes:
        return _event(body) + b"data: [DONE]\n\n"

    def _chunk(self, delta: Delta, finish_reason: Literal["stop"] | None = None) -> bytes:
        choice: ChunkChoice = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
        chunk: Chunk = {**self._empty_chunk(), "choices": [choice]}
        if self._include_usage:
            chunk["usage"] = None
        return _event(chunk)

    def _empty_chunk(self) -> Chunk:
        return {
            "id": self._id,
            "object": "chat.completion.chunk",
            "created": self._created,
            "model": self._model,
            "choices": [],
        }


def _event(data: object) -> bytes:
    return b"data: %s\n\n" % render_line(data)


def _completion_id() -> str:
    return f"chatcmpl-{uuid.uuid4().hex}"
