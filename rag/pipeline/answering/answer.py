"""A question's whole way: find → assemble → ground → generate → check (the pipeline contract, sub-contracts 2 to 5)."""

import dataclasses
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from rag.errors import InsufficientContext, NoResults, NotGrounded
from rag.pipeline.grounding.calibration import mode_name
from rag.pipeline.grounding.ground import assess_grounding
from rag.pipeline.grounding.validate import validate_answer
from rag.pipeline.retrieval.retrieve import find_passages
from rag.types import (
    Answer,
    AnswerEvents,
    AnswerResult,
    Citation,
    Context,
    GenerationOptions,
    Grounding,
    Passage,
    Question,
    Retrieval,
    Scope,
)

from . import blocks
from .citations import extract_citations
from .generate import collect_text, prepare_generation, resolve_model_name
from .prompt import DEFAULT_TEMPLATE, build_prompt, validate_template

CONTEXT_IGNORED, NOT_GROUNDED, CITATIONS_DROPPED = "CONTEXT_IGNORED", "NOT_GROUNDED", "CITATIONS_DROPPED"
NO_ANSWER = "The sources do not hold the answer to this question."
_MOST_GAPS = 10


# Tokens of a prompt: unless a client chooses, and the most that it may choose.
DEFAULT_PROMPT_TOKENS = 3000
MAX_PROMPT_TOKENS = 32_000


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """On what terms a question is answered.

    max_tokens: of the prompt. template: empty for the default one. strict: raise instead of declining.
    """

    max_tokens: int
    template: str = ""
    strict: bool = False
    generation: GenerationOptions = field(default_factory=GenerationOptions)


def ask(question: Question, scopes: Sequence[Scope], terms: AnswerOptions) -> AnswerEvents[AnswerResult]:
    """Raises NoResults, ContextOverflow, TemplateInvalid, GroundingFailed, GenerationFailed, what `find` raises; and,
    strict, InsufficientContext and NotGrounded."""
    validate_template(terms.template or DEFAULT_TEMPLATE)
    retrieval = find_passages(question, scopes)
    if not retrieval.passages:
        raise NoResults
    context, grounding = assess(question, retrieval, terms)
    if terms.strict and not grounding.is_groundable:
        raise InsufficientContext("The sources do not hold the answer.", gaps=list(grounding.gaps))
    if len(grounding.relevant) < len(context.passages):
        context = _context(question, grounding.relevant, terms)
    yield retrieval
    if not grounding.is_groundable:
        answer = _declined(grounding, NOT_GROUNDED)
        yield answer.text
    else:
        answer = yield from _answered(question, context, grounding, terms)
    return AnswerResult(retrieval, context, grounding, answer)


def assess(question: Question, retrieval: Retrieval, terms: AnswerOptions) -> tuple[Context, Grounding]:
    """The prompt of what fits, and whether that carries an answer. Raises ContextOverflow and GroundingFailed."""
    context = _context(question, retrieval.passages, terms)
    return context, assess_grounding(question.text, context, mode=mode_name(question), strict=terms.strict)


def _context(question: Question, passages: Sequence[Passage], terms: AnswerOptions) -> Context:
    model = resolve_model_name(terms.generation)
    return build_prompt(question.text, passages, max_tokens=terms.max_tokens, template=terms.template, model=model)


def _answered(
    question: Question, context: Context, grounding: Grounding, terms: AnswerOptions
) -> Generator[str, None, Answer]:
    chosen = prepare_generation(question.text, context, terms.generation)
    text = yield from collect_text(chosen.pieces)
    if chosen.quotes is not None:
        missing = describe_gaps(grounding)
        if missing:
            yield f" {missing}"
        return Answer(
            f"{text} {missing}".strip(),
            _with_pages(chosen.quotes, context),
            grounding.score,
            model=chosen.name,
            warnings=grounding.warnings,
        )
    checked = extract_citations(text, context.numbered_passages)
    if not (checked.citations or checked.unsupported_sentences):
        return _declined(grounding, CONTEXT_IGNORED, model=chosen.name)
    # Not against the prompt: what the question itself says is no support for the answer.
    known = "\n\n".join(passage.text_with_headings for passage in context.numbered_passages)
    verdict = validate_answer(checked.text, known, [passage.lang for passage in context.numbered_passages])
    if not (checked.citations and verdict.is_valid):
        if terms.strict:
            raise NotGrounded(f"The answer that was made is not carried by the sources: {verdict.details}")
        return _declined(grounding, NOT_GROUNDED, model=chosen.name)
    return Answer(
        checked.text,
        _with_pages(checked.citations, context),
        confidence=grounding.score * verdict.score,
        model=chosen.name,
        warnings=(*grounding.warnings, *((CITATIONS_DROPPED,) if checked.dropped else ())),
        citations_dropped=checked.dropped,
        unsupported_sentences=checked.unsupported_sentences,
    )


def _with_pages(citations: Sequence[Citation], context: Context) -> tuple[Citation, ...]:
    found = []
    for each in citations:
        own = [passage for passage in context.passages if passage.document_id == each.passage.document_id]
        found.append(dataclasses.replace(each, pages=blocks.find_pages(own, each.start, each.end)))
    return tuple(found)


def _declined(grounding: Grounding, warning: str, model: str = "") -> Answer:
    text = f"{NO_ANSWER} {describe_gaps(grounding)}".strip()
    return Answer(text, (), confidence=0.0, model=model, warnings=(*grounding.warnings, warning))


def describe_gaps(grounding: Grounding) -> str:
    """The gaps as a sentence; empty if there are none."""
    return f"Nothing was found about: {', '.join(grounding.gaps[:_MOST_GAPS])}." if grounding.gaps else ""
