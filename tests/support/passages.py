"""Passages without a database, for tests of reranking and answering."""

import uuid

from rag.pipeline.answering.extractive.extract import extract_quotes
from rag.pipeline.answering.extractive.render_quotes import render_quotes
from rag.types import Passage

_ID = uuid.UUID(int=1)
PASSAGE = Passage(
    chunk_id=_ID, document_id=_ID, source_id=_ID, organization_id=_ID, source_slug="s",
    rank=1, score=0.5, relevance=0.5, text="", position=0, start=0, end=0, headings=(), title="", path="", uri="",
    content_type="", source_type="doc", lang="", tags=(), metadata={}, date=None,
)  # fmt: skip


def passages(*texts: str, maxsims: tuple[float | None, ...] = ()) -> list[Passage]:
    values = maxsims or (0.5,) * len(texts)
    return [PASSAGE.copy_with(text=text, maxsim=maxsim) for text, maxsim in zip(texts, values, strict=True)]


def passage(text: str, **fields: object) -> Passage:
    values = {"text": text, "start": 100, "end": 100 + len(text), "title": "", "headings": (), "lang": "", **fields}
    return PASSAGE.copy_with(**values)


def answer(query: str, *answering_passages: Passage) -> str:
    return render_quotes(extract_quotes(query, answering_passages), lambda number, _: f"[{number}]")
