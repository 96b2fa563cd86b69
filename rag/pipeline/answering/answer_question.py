"""The query pipeline: retrieve -> build prompt -> assess grounding -> generate -> validate.

Implements sub-contracts 2 to 5 of the pipeline contract.
"""

import dataclasses
from collections.abc import Generator, Sequence

from rag.errors import InsufficientContext, NoResults, NotGrounded
from rag.pipeline.grounding.assess_grounding import CONFIDENCE_UNKNOWN, assess_grounding
from rag.pipeline.grounding.calibration_curve import mode_name
from rag.pipeline.grounding.quote_confidence import confidence_of_quotes
from rag.pipeline.retrieval.query.spelling.correct_spelling import correct_spelling
from rag.pipeline.retrieval.retrieve import LANGUAGE_PENDING
from rag.pipeline.validation.entailment import AnswerValidator
from rag.pipeline.validation.remove_unsupported import remove_unsupported_end
from rag.pipeline.validation.validate import validate_answer
from rag.providers import provider_factory
from rag.providers.language_models.keep_alive import wait_for
from rag.types import (
    Answer,
    AnswerEvents,
    AnswerOptions,
    AnswerResult,
    Citation,
    Context,
    Grounding,
    Passage,
    Question,
    Retrieval,
    SearchedQuestion,
    SearchScope,
    Validation,
)
from ragsite.observability import measurement_buffer

from .declined.declined_answers import (
    NOT_GROUNDED,
    decline,
    decline_without_facts,
    describe_closest,
    describe_gaps_of_quotes,
    postpone,
    say_no_answer,
)
from .declined.no_answer_sentences import ENGLISH
from .find_passages_to_answer import add_probability_of_parts, find_passages_to_answer
from .generate import collect_text, prepare_generation, resolve_model_name
from .merge_passages import find_pages
from .prompt import DEFAULT_TEMPLATE, SanitizedPassages, build_prompt, validate_template
from .quote_checks.answers_question import Judgement, judge_quotes
from .quote_checks.find_quote_evidence import find_quote_evidence
from .quote_checks.required_facts import has_required_facts
from .verify_citations import CitedAnswer, extract_citations

CONTEXT_IGNORED, CITATIONS_DROPPED = "CONTEXT_IGNORED", "CITATIONS_DROPPED"


def ask(question: Question, scopes: Sequence[SearchScope], options: AnswerOptions) -> AnswerEvents[AnswerResult]:
    """Stream a grounded answer.

    If the sources do not support an answer, the text says so and has no citations; with `options.strict` an error is
    raised instead.

    Raises:
        NoResults: If the search found no passage.
        TemplateInvalid: If the template is malformed.
        ContextOverflow: If not even the best passage fits into the token budget.
        GroundingFailed: If `options.strict`, and the language model that judges groundability failed.
        GenerationFailed: If the language model failed.
        InsufficientContext: If `options.strict`, and the passages do not contain the answer.
        NotGrounded: If `options.strict`, and the passages do not support the generated answer.
        RagError: If `find_passages_to_answer` fails.
    """
    validate_template(options.template or DEFAULT_TEMPLATE)
    question = correct_spelling(question, scopes)
    retrieval = find_passages_to_answer(question, scopes)
    if not retrieval.passages:
        raise NoResults
    with measurement_buffer.measure("query_stage", "ground"):
        sanitized = SanitizedPassages()
        context, grounding = assess(question, retrieval, options, sanitized)
        grounding = add_probability_of_parts(grounding, retrieval, context.passages)
    if options.strict and not grounding.is_groundable:
        raise InsufficientContext(ENGLISH.no_answer, gaps=list(grounding.gaps))
    is_pending = not grounding.is_groundable and LANGUAGE_PENDING in retrieval.warnings
    closest = "" if grounding.is_groundable or is_pending else describe_closest(question.text, context)
    if len(grounding.relevant) < len(context.passages):
        context = _build_context(question, grounding.relevant, options, sanitized)
    yield retrieval
    if not grounding.is_groundable:
        if is_pending:
            grounding = dataclasses.replace(grounding, gaps=())  # its words may well be there, in another language
            answer = postpone(question.text, grounding)
        else:
            answer = decline(question.text, grounding, closest, retrieval.passages[0].heading_similarity)
        yield answer.text
    else:
        with measurement_buffer.measure("query_stage", "generate"):
            answer = yield from _generate_answer(question, context, grounding, options, retrieval.searched)
    return AnswerResult(retrieval, context, grounding, answer)


def assess(
    question: Question, retrieval: Retrieval, options: AnswerOptions, sanitized: SanitizedPassages | None = None
) -> tuple[Context, Grounding]:
    """Build the prompt from the passages that fit, and assess whether they contain the answer.

    Args:
        question: The question.
        retrieval: The passages that the search returned.
        options: The token budget, the prompt template, and whether failures are raised.
        sanitized: Receives the passages as they are in the prompt, for another prompt of the same question.

    Returns:
        The prompt with its passages, and the assessment of these passages.

    Raises:
        ContextOverflow: If not even the best passage fits into the token budget.
        GroundingFailed: If `options.strict`, and the language model that judges groundability failed.
    """
    context = _build_context(question, retrieval.passages, options, sanitized)
    return context, assess_grounding(question.text, context, mode=mode_name(question), strict=options.strict)


def _build_context(
    question: Question, passages: Sequence[Passage], options: AnswerOptions, sanitized: SanitizedPassages | None
) -> Context:
    return build_prompt(
        question.text,
        passages,
        max_tokens=options.max_prompt_tokens,
        template=options.template,
        model=resolve_model_name(options.generation),
        sanitized=sanitized,
    )


def _generate_answer(
    question: Question,
    context: Context,
    grounding: Grounding,
    options: AnswerOptions,
    searched: Sequence[SearchedQuestion],
) -> Generator[str, None, Answer]:
    """Yield the answer's text in parts, and return the answer with verified citations, or a refusal."""
    generation = prepare_generation(question.text, context, options.generation, searched=searched)
    judgement = Judgement()
    if generation.quotes is not None:
        has_facts = has_required_facts(question.text, generation, grounding.gaps)
        # A clause that was searched for in place of the question is judged without the story around it.
        judged = searched[0].text if len(searched) == 1 else question.text
        judgement = judge_quotes(judged, generation, grounding.score) if has_facts else Judgement(False)
    if not judgement.is_answer:
        answer = decline_without_facts(question.text, context, grounding, options, generation.quoted)
        yield answer.text
        return answer
    text = yield from collect_text(generation.text_parts)
    if generation.quotes is not None:
        gaps = describe_gaps_of_quotes(question.text, grounding, generation.quotes)
        if gaps:
            yield f" {gaps}"
        return Answer(
            f"{text} {gaps}".strip(),
            _with_pages(generation.quotes, context),
            confidence_of_quotes(
                grounding.score if judgement.probability is None else judgement.probability,
                find_quote_evidence(question.text, generation, grounding),
            ),
            model=generation.model,
            warnings=grounding.warnings,
        )
    cited = extract_citations(text, context.numbered_passages)
    if not (cited.citations or cited.unsupported_sentences):
        return say_no_answer(question.text, grounding, CONTEXT_IGNORED, model=generation.model)
    # Validated against the passages, not the prompt: the question itself cannot support the answer.
    passages = "\n\n".join(passage.text_with_headings for passage in context.numbered_passages)
    langs = [passage.lang for passage in context.numbered_passages]
    cited, validation, warnings = yield from _validate(cited, passages, langs)
    grounding = dataclasses.replace(grounding, warnings=(*grounding.warnings, *warnings))
    if not (cited.citations and validation.is_valid):
        if options.strict:
            raise NotGrounded(f"The sources do not support the generated answer: {validation.details}")
        return say_no_answer(question.text, grounding, NOT_GROUNDED, model=generation.model)
    return Answer(
        cited.text,
        _with_pages(cited.citations, context),
        confidence=grounding.score * validation.score,
        model=generation.model,
        # Calibrations are of quoted answers. Nobody has measured how often written ones are right.
        warnings=tuple(
            dict.fromkeys((*grounding.warnings, CONFIDENCE_UNKNOWN, *((CITATIONS_DROPPED,) if cited.dropped else ())))
        ),
        citations_dropped=cited.dropped,
        unsupported_sentences=cited.unsupported_sentences,
    )


def _validate(
    cited: CitedAnswer, known: str, langs: Sequence[str]
) -> Generator[str, None, tuple[CitedAnswer, Validation, tuple[str, ...]]]:
    """Validate an answer. If it is invalid, do so again without the sentences at its end that nothing supports.

    Yields:
        "" while an entailment model is asked.

    Returns:
        The answer, without these sentences; its validation, and the warnings.
    """
    if not cited.citations:  # it is declined in any case
        return cited, validate_answer(cited.text, known, langs), ()
    model = provider_factory.entailment_model()
    validator = AnswerValidator(model)
    if model is None:
        validation = validator.validate(cited.text, known, langs)
    else:
        validation = yield from wait_for(lambda: validator.validate(cited.text, known, langs))
    if validation.is_valid:
        return cited, validation, validator.warnings
    text, removed = remove_unsupported_end(cited.text, validation.sentences)
    if not removed:
        return cited, validation, validator.warnings
    unsupported = (*cited.unsupported_sentences, *removed)
    shortened = dataclasses.replace(cited, text=text, unsupported_sentences=unsupported)
    # The model is not asked again: what it said of each sentence is known.
    return shortened, validator.validate(text, known, langs), validator.warnings


def _with_pages(citations: Sequence[Citation], context: Context) -> tuple[Citation, ...]:
    cited = []
    for citation in citations:
        document_id = citation.passage.document_id
        document_passages = [passage for passage in context.passages if passage.document_id == document_id]
        exact_pages = citation.passage.pages_between(citation.start, citation.end)
        pages = exact_pages or find_pages(document_passages, citation.start, citation.end)
        cited.append(dataclasses.replace(citation, pages=pages))
    return tuple(cited)
