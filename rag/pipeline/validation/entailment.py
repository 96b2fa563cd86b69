"""Step: validation with an entailment model, which notices a reversed relation that words and tokens do not show.

Without a model, or if it fails, sentences keep the scores of their words (rag.pipeline.validation.claims).
"""

import dataclasses
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

import structlog

from rag.errors import EntailmentFailed, TooManyLongRequests
from rag.providers.base import EntailmentModel
from rag.text import citation_markers
from rag.text.question_language import query_language
from rag.text.sentences.split_sentences import sentence_spans
from rag.text.words import content_words, stem
from rag.types import Validation

from .claims import Claim
from .context_index import distinct_stems, join_spans
from .validate import find_claims, summarize_claims

logger = structlog.get_logger(__name__)

WARNING = EntailmentFailed.code
_FAILURE_DETAIL = " The entailment model did not answer, so only words and numbers were compared."
# How many different sentences of an answer are sent, with how many parts of the context each.
_MAX_CLAIMS = 50
_MAX_PARTS_PER_CLAIM = 3
# Models read about 512 tokens: the part and the sentence.
_MAX_PART_CHARACTERS = 1_200
_PARAGRAPH_END = re.compile(r"\n[^\S\n]*\n")
_BLANKS_BEFORE_END = re.compile(r"\s+(?=[.,;:!?])")


class AnswerValidator:
    """Validates one answer, also again after its end was removed. The model is called at most once.

    Attributes:
        has_failed: Whether the model was called and failed.
    """

    def __init__(self, model: EntailmentModel | None) -> None:
        """Validate with this model; with None by words, token vectors, names and numbers only."""
        self._model = model
        self._probabilities: dict[str, float] | None = None
        self.has_failed = False

    @property
    def warnings(self) -> tuple[str, ...]:
        """The code of the model's failure, or nothing."""
        return (WARNING,) if self.has_failed else ()

    def validate(self, answer: str, context: str, langs: Sequence[str] = ()) -> Validation:
        """Return what `validate_answer` returns, with the scores of the model.

        The score of a sentence that is not quoted is the probability that a part of the context entails it. A number
        that the context does not contain makes its sentence unsupported all the same.

        Args:
            answer: The text to check; citations such as [1] are ignored.
            context: The text that must support it.
            langs: The languages of the context, as documents declare them.
        """
        claims = find_claims(answer, context, langs)
        if self._model is not None:
            if self._probabilities is None:
                premises = _Premises(context, query_language(answer, langs))
                self._probabilities = self._ask(self._model, _select_sentences(claims, answer), premises)
            claims = [_with_probability(claim, answer, self._probabilities) for claim in claims]
        validation = summarize_claims(answer, claims)
        if self.has_failed:
            return dataclasses.replace(validation, details=validation.details + _FAILURE_DETAIL)
        return validation

    def _ask(self, model: EntailmentModel, sentences: Mapping[str, Claim], premises: "_Premises") -> dict[str, float]:
        """Return for each sentence the highest probability that a part of the context entails it; {} on failure."""
        pairs = [
            (premise, sentence)
            for sentence, claim in sentences.items()
            for premise in premises.select(sentence, claim.context_span)
        ]
        try:
            probabilities = model.entail(pairs) if pairs else []
        except (EntailmentFailed, TooManyLongRequests) as error:
            logger.warning("entailment_failed", reason=error.message)
            self.has_failed = True
            return {}
        highest: dict[str, float] = {}
        for (_, sentence), probability in zip(pairs, probabilities, strict=True):
            highest[sentence] = max(probability, highest.get(sentence, 0.0))
        return highest


class _Premises:
    """The parts of a context, of which those are selected that are most likely to entail a sentence."""

    def __init__(self, context: str, lang: str) -> None:
        self._context, self._lang = context, lang
        self._parts = join_spans(_split_paragraphs(context), _MAX_PART_CHARACTERS)
        self._stems = [distinct_stems(context[start:end], lang) for start, end in self._parts]

    def select(self, sentence: str, span: tuple[int, int] | None) -> list[str]:
        """Return the part around the most similar sentence, then those that have most stems of the sentence."""
        stems = {stem(word, self._lang) for word in content_words(sentence, self._lang)}

        def rank(index: int) -> tuple[bool, int, int]:
            start, end = self._parts[index]
            is_around = span is not None and start <= span[0] < end
            return not is_around, -len(stems & self._stems[index]), index

        selected = sorted(range(len(self._parts)), key=rank)[:_MAX_PARTS_PER_CLAIM]
        return [self._context[slice(*self._parts[index])] for index in selected]


def _split_paragraphs(context: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each paragraph, or of each sentence of a paragraph that is longer than a part."""
    ends = [match.span() for match in _PARAGRAPH_END.finditer(context)]
    borders = [0, *itertools.chain.from_iterable(ends), len(context)]
    for start, end in zip(borders[::2], borders[1::2], strict=True):
        if end - start > _MAX_PART_CHARACTERS:
            spans = sentence_spans(context[start:end])
            yield from ((start + sentence_start, start + sentence_end) for sentence_start, sentence_end in spans)
        elif context[start:end].strip():
            yield start, end


def _select_sentences(claims: Sequence[Claim], answer: str) -> dict[str, Claim]:
    """Return the first different sentences that are not quoted, as they are sent."""
    sentences: dict[str, Claim] = {}
    for claim in claims:
        if claim.score < 1 and len(sentences) < _MAX_CLAIMS:
            sentences.setdefault(_without_markers(claim, answer), claim)
    return sentences


def _with_probability(claim: Claim, answer: str, probabilities: Mapping[str, float]) -> Claim:
    if claim.score >= 1:
        return claim
    return dataclasses.replace(claim, score=probabilities.get(_without_markers(claim, answer), claim.score))


def _without_markers(claim: Claim, answer: str) -> str:
    text = citation_markers.remove_markers(answer[claim.start : claim.end])
    return _BLANKS_BEFORE_END.sub("", " ".join(text.split()))
