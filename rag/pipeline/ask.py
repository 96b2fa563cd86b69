"""A question's whole way: find → assemble → ground → generate → check (the pipeline contract, sub-contracts 2 to 5)."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from rag.errors import InsufficientContext, NoResults, NotGrounded
from rag.types import Answer, Answered, Context, Events, Generation, Grounding, Question, Scope

from .assemble import DEFAULT_TEMPLATE, assemble, check_template
from .calibration import gear_of
from .generate import citations, told, writer
from .ground import ground
from .query import find
from .validate import validate

CONTEXT_IGNORED, NOT_GROUNDED = "CONTEXT_IGNORED", "NOT_GROUNDED"


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms a question is answered.

    max_tokens: of the prompt. template: empty for the default one. strict: raise instead of declining.
    """

    max_tokens: int
    template: str = ""
    strict: bool = False
    generation: Generation = field(default_factory=Generation)


def ask(question: Question, scopes: Sequence[Scope], terms: Terms) -> Events[Answered]:
    """Raises NoResults, ContextOverflow, TemplateInvalid, GroundingFailed, GenerationFailed, what `find` raises; and,
    strict, InsufficientContext and NotGrounded."""
    check_template(terms.template or DEFAULT_TEMPLATE)
    retrieval = find(question, scopes)
    if not retrieval.passages:
        raise NoResults
    context = assemble(question.text, retrieval.passages, max_tokens=terms.max_tokens, template=terms.template)
    grounding = ground(question.text, context, gear=gear_of(question), strict=terms.strict)
    if terms.strict and not grounding.is_groundable:
        raise InsufficientContext("The sources do not hold the answer.", gaps=list(grounding.gaps))
    if len(grounding.relevant) < len(context.passages):
        context = assemble(question.text, grounding.relevant, max_tokens=terms.max_tokens, template=terms.template)
    yield retrieval
    if not grounding.is_groundable:
        answer = _declined(grounding, NOT_GROUNDED)
        yield answer.text
    else:
        answer = yield from _answered(question, context, grounding, terms)
    return Answered(retrieval, context, grounding, answer)


def _answered(question: Question, context: Context, grounding: Grounding, terms: Terms) -> Generator[str, None, Answer]:
    chosen = writer(question.text, context, terms.generation)
    text = yield from told(chosen.pieces)
    used = citations(text, context.passages)
    if not used:
        return _declined(grounding, CONTEXT_IGNORED, model=chosen.name)
    # Not against the prompt: what the question itself says is no support for the answer.
    known = "\n\n".join(passage.searched_text for passage in context.passages)
    checked = validate(text, known, [passage.lang for passage in context.passages])
    if not checked.is_valid:
        if terms.strict:
            raise NotGrounded(f"The answer that was made is not carried by the sources: {checked.details}")
        return _declined(grounding, NOT_GROUNDED, model=chosen.name)
    return Answer(
        text, used, confidence=grounding.score * checked.score, model=chosen.name, warnings=grounding.warnings
    )


def _declined(grounding: Grounding, warning: str, model: str = "") -> Answer:
    text = "The sources do not hold the answer to this question."
    if grounding.gaps:
        text += f" Nothing was found about: {', '.join(grounding.gaps[:10])}."
    return Answer(text, (), confidence=0.0, model=model, warnings=(*grounding.warnings, warning))
