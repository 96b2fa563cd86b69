"""Questions that a caller could ask: headings of readable documents that are questions."""

import itertools
import re
from collections.abc import Iterator, Sequence

from orgs.access.caller import Caller
from rag.models import Action, Chunk, DataSource, Document
from rag.text.markup.titles.faq_questions import QUESTION_ENDINGS

_MAX_SUGGESTIONS = 3
# How much is read to find them: the page "Ask" must not wait for suggestions.
_MAX_SOURCES, _MAX_DOCUMENTS, _MAX_POSITION = 5, 25, 4
# A reader's own question, which is understood without its document: "How do I send a document?"
_FIRST_PERSON = re.compile(r"\b(I|my|we|our|ich|mein(e[mnrs]?)?|wir|unser(e[mnrs]?)?)\b", re.IGNORECASE)
# Shorter questions are often understood only under their heading: "Which processes run?"
_MIN_CHARACTERS, _MAX_CHARACTERS = 24, 100


def suggest_questions(caller: Caller, sources: Sequence[DataSource]) -> list[str]:
    """Return up to three questions that the first documents of the sources have as headings.

    Questions of a reader come first, and questions of different documents.

    Args:
        caller: The caller, whose permissions apply.
        sources: Data sources that the caller may query.
    """
    readable = Document.objects.live().visible_to(caller, Action.QUERY)
    by_source: list[list[object]] = [
        list(readable.filter(source=source).order_by("path").values_list("pk", flat=True)[:_MAX_DOCUMENTS])
        for source in sources[:_MAX_SOURCES]
    ]
    chunks = Chunk.objects.visible_to(caller, Action.QUERY).filter(
        document__in=[*itertools.chain(*by_source)], position__lt=_MAX_POSITION
    )
    by_document: dict[object, list[str]] = {}
    for document_id, headings in chunks.order_by("document", "position").values_list("document", "headings"):
        by_document.setdefault(document_id, []).extend(_find_questions(headings))
    # One of each document first.
    in_turn = itertools.chain(*itertools.zip_longest(*(dict.fromkeys(questions) for questions in by_document.values())))
    questions = dict.fromkeys(question for question in in_turn if question)
    return sorted(questions, key=lambda question: not _FIRST_PERSON.search(question))[:_MAX_SUGGESTIONS]


def _find_questions(headings: Sequence[str]) -> Iterator[str]:
    for heading in headings:
        text = heading.strip()
        if text.endswith(QUESTION_ENDINGS) and _MIN_CHARACTERS <= len(text) <= _MAX_CHARACTERS:
            yield text
