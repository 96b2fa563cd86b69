"""Answers to questions that the sources do not answer: what is missing, and what comes closest."""

from collections.abc import Sequence

from rag.errors import InsufficientContext
from rag.pipeline.answering.extractive.extract import compare_sentences, extract_quotes
from rag.pipeline.answering.extractive.quotes import Quote
from rag.pipeline.answering.extractive.render_quotes import plain_heading, render_quotes
from rag.pipeline.grounding.cross_language_grounding import is_in_other_language
from rag.pipeline.grounding.gaps import select_reportable_gaps
from rag.text.markup.pictures import disable_pictures
from rag.text.markup.writing_direction import end_directions
from rag.types import Answer, AnswerOptions, Citation, Context, Grounding, Passage

from .no_answer_sentences import ENGLISH, sentences_for

NOT_GROUNDED = "NOT_GROUNDED"
_MAX_LISTED_GAPS = 10
# From this probability on, or with so similar a heading, the closest passage may well contain the answer, so the text
# says that none is clear. Below such headings are the answers to eight of twelve declined questions.
_MIN_UNCLEAR, _MIN_UNCLEAR_HEADING_SIMILARITY = 0.15, 0.375
# The cosine similarity to the question from which on the second closest passage is shown as well, measured with the
# local model.
_MIN_SIMILARITY_OF_NEXT = 0.2


def decline(query: str, grounding: Grounding, closest: str, heading_similarity: float | None) -> Answer:
    """Decline a question that the passages probably do not answer, and show what comes closest.

    Args:
        query: The question.
        grounding: How well the passages can answer it.
        closest: What `describe_closest` returns; empty if there is nothing.
        heading_similarity: The similarity of the best passage's title and headings, 0…1; None if unknown.
    """
    is_unclear = grounding.score >= _MIN_UNCLEAR or (heading_similarity or 0.0) >= _MIN_UNCLEAR_HEADING_SIMILARITY
    if not (is_unclear and closest):
        return say_no_answer(query, grounding, NOT_GROUNDED, closest=closest)
    gaps = describe_gaps(query, select_reportable_gaps(query, grounding.gaps))
    sentences = sentences_for(query)
    text = sentences.space.join(filter(None, (sentences.unclear, gaps, closest)))
    return Answer(text, (), confidence=0.0, model="", warnings=(*grounding.warnings, NOT_GROUNDED))


def decline_without_facts(
    query: str, context: Context, grounding: Grounding, options: AnswerOptions, quotes: Sequence[Quote]
) -> Answer:
    """Decline a question because the quotes lack what it asks for, such as a telephone number.

    Raises:
        InsufficientContext: If `options.strict`.
    """
    if options.strict:
        raise InsufficientContext(ENGLISH.no_answer, gaps=list(grounding.gaps))
    return decline(query, grounding, describe_closest(query, context, quotes), None)


def postpone(query: str, grounding: Grounding) -> Answer:
    """Decline a question that the sources cannot be compared with by meaning yet, because of its language."""
    warnings = (*grounding.warnings, NOT_GROUNDED)
    return Answer(sentences_for(query).pending, (), confidence=0.0, model="", warnings=warnings)


def say_no_answer(query: str, grounding: Grounding, warning: str, model: str = "", closest: str = "") -> Answer:
    """Return the statement that no answer was found, with the gaps and the closest passages."""
    sentences = sentences_for(query)
    text = sentences.space.join(filter(None, (sentences.no_answer, describe_gaps(query, grounding.gaps), closest)))
    return Answer(text, (), confidence=0.0, model=model, warnings=(*grounding.warnings, warning))


def describe_closest(query: str, context: Context, quotes: Sequence[Quote] = ()) -> str:
    """Return sentences that show the two passages which come closest to an answer, so that nobody takes them for one.

    Of declined questions about the documents, the first passage has the answer of a half, one of both that of two
    thirds. The second one is left out if it is hardly similar to the question.

    Args:
        query: The question.
        context: The prompt with its passages.
        quotes: The quotes for the question, if they are known.
    """
    passages, sentences = context.numbered_passages, sentences_for(query)
    similarity = None if quotes else compare_sentences(query, passages, context.passages)
    first = _first_with_its_parts(quotes or extract_quotes(query, passages, similarity))
    if not first:
        return ""
    shown = passages[first[0].number - 1]
    others = [
        passage
        for passage in passages
        if passage is not shown and passage.cross_language_cosine >= _MIN_SIMILARITY_OF_NEXT
    ][:1]
    text = _describe_quotes(first, shown, sentences.closest, sentences.space)
    if not (text and others):
        return text
    similarity = similarity or compare_sentences(query, others, context.passages)
    second = _first_with_its_parts(extract_quotes(query, others, similarity))
    if second and second[0].text.startswith("#"):  # nothing but a heading
        return text
    next_text = _describe_quotes(second, others[0], sentences.next_closest, sentences.space)
    return f"{text}\n\n{next_text}".rstrip()


def _first_with_its_parts(quotes: Sequence[Quote]) -> Sequence[Quote]:
    """Return the first quote with those that belong to it."""
    end = next((number for number, quote in enumerate(quotes, start=1) if not quote.continues), len(quotes))
    return quotes[:end]


def _describe_quotes(quotes: Sequence[Quote], passage: Passage, introduction: str, space: str) -> str:
    """Return the quotes below the sentence that says where they are; empty without quotes or a place to name."""
    if not quotes:
        return ""
    heading = plain_heading(quotes[0].heading) or next(iter(passage.headings[-1:]), "")
    where = " › ".join(" ".join(part.split()) for part in dict.fromkeys((passage.title, heading)) if part)
    where = end_directions(disable_pictures(where))
    space = "\n" if quotes[0].is_block else space
    return f"{introduction.format(where=where)}{space}{render_quotes(quotes)}" if where else ""


def describe_gaps_of_quotes(query: str, grounding: Grounding, quotes: Sequence[Citation]) -> str:
    """Return the sentence that names gaps below quotes; empty if a quote is in another language, which has no words."""
    if is_in_other_language(query, [quote.passage for quote in quotes]):
        return ""
    return describe_gaps(query, select_reportable_gaps(query, grounding.gaps))


def describe_gaps(query: str, gaps: Sequence[str]) -> str:
    """Return a sentence in the language of the question that names its gaps; empty without gaps."""
    sentences = sentences_for(query)
    return sentences.gaps.format(gaps=sentences.comma.join(gaps[:_MAX_LISTED_GAPS])) if gaps else ""
