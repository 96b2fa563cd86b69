"""Answers to questions that the sources do not answer: what is missing, and what comes closest."""

from collections.abc import Sequence

from rag.errors import InsufficientContext
from rag.pipeline.answering.extractive.extract import compare_sentences, extract_quotes
from rag.pipeline.answering.extractive.render_quotes import plain_heading, render_quotes
from rag.pipeline.grounding.cross_language_grounding import is_in_other_language
from rag.pipeline.grounding.gaps import select_reportable_gaps
from rag.text.markup.pictures import disable_pictures
from rag.text.markup.writing_direction import end_directions
from rag.types import Answer, AnswerOptions, Citation, Context, Grounding

from .no_answer_sentences import ENGLISH, sentences_for

NOT_GROUNDED = "NOT_GROUNDED"
_MAX_LISTED_GAPS = 10
# From this probability on, or with so similar a heading, the closest passage may well contain the answer, so the text
# says that none is clear. Below such headings are the answers to eight of twelve declined questions.
_MIN_UNCLEAR, _MIN_UNCLEAR_HEADING_SIMILARITY = 0.15, 0.375


def decline(query: str, grounding: Grounding, closest: str, heading_similarity: float | None) -> Answer:
    """Decline a question that the passages probably do not answer, and show what comes closest.

    Args:
        query: The question.
        grounding: How well the passages can answer it.
        closest: The sentence of `describe_closest`; empty if there is none.
        heading_similarity: The similarity of the best passage's title and headings, 0…1; None if unknown.
    """
    is_unclear = grounding.score >= _MIN_UNCLEAR or (heading_similarity or 0.0) >= _MIN_UNCLEAR_HEADING_SIMILARITY
    if not (is_unclear and closest):
        return say_no_answer(query, grounding, NOT_GROUNDED, closest=closest)
    gaps = describe_gaps(query, select_reportable_gaps(query, grounding.gaps))
    sentences = sentences_for(query)
    text = sentences.space.join(filter(None, (sentences.unclear, gaps, closest)))
    return Answer(text, (), confidence=0.0, model="", warnings=(*grounding.warnings, NOT_GROUNDED))


def decline_without_facts(query: str, context: Context, grounding: Grounding, options: AnswerOptions) -> Answer:
    """Decline a question because the quotes lack what it asks for, such as a telephone number.

    Raises:
        InsufficientContext: If `options.strict`.
    """
    if options.strict:
        raise InsufficientContext(ENGLISH.no_answer, gaps=list(grounding.gaps))
    return decline(query, grounding, describe_closest(query, context), None)


def postpone(query: str, grounding: Grounding) -> Answer:
    """Decline a question that the sources cannot be compared with by meaning yet, because of its language."""
    warnings = (*grounding.warnings, NOT_GROUNDED)
    return Answer(sentences_for(query).pending, (), confidence=0.0, model="", warnings=warnings)


def say_no_answer(query: str, grounding: Grounding, warning: str, model: str = "", closest: str = "") -> Answer:
    """Return the statement that no answer was found, with the gaps and the closest passage."""
    sentences = sentences_for(query)
    text = sentences.space.join(filter(None, (sentences.no_answer, describe_gaps(query, grounding.gaps), closest)))
    return Answer(text, (), confidence=0.0, model=model, warnings=(*grounding.warnings, warning))


def describe_closest(query: str, context: Context) -> str:
    """Return a sentence that shows what comes closest to an answer, so that nobody takes it for one."""
    passages = context.numbered_passages
    quotes = extract_quotes(query, passages, compare_sentences(query, passages, context.passages))
    if not quotes:
        return ""
    end = next(number for number, quote in enumerate(quotes, start=1) if not quote.continues)
    passage = passages[quotes[0].number - 1]
    heading = plain_heading(quotes[0].heading) or next(iter(passage.headings[-1:]), "")
    where = " › ".join(" ".join(part.split()) for part in dict.fromkeys((passage.title, heading)) if part)
    where = end_directions(disable_pictures(where))
    sentences = sentences_for(query)
    space = "\n" if quotes[0].is_block else sentences.space
    return f"{sentences.closest.format(where=where)}{space}{render_quotes(quotes[:end])}" if where else ""


def describe_gaps_of_quotes(query: str, grounding: Grounding, quotes: Sequence[Citation]) -> str:
    """Return the sentence that names gaps below quotes; empty if a quote is in another language, which has no words."""
    if is_in_other_language(query, [quote.passage for quote in quotes]):
        return ""
    return describe_gaps(query, select_reportable_gaps(query, grounding.gaps))


def describe_gaps(query: str, gaps: Sequence[str]) -> str:
    """Return a sentence in the language of the question that names its gaps; empty without gaps."""
    sentences = sentences_for(query)
    return sentences.gaps.format(gaps=sentences.comma.join(gaps[:_MAX_LISTED_GAPS])) if gaps else ""
