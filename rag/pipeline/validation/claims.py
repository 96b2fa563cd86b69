"""Scores how well a context supports each sentence of an answer: by words, token vectors, names and numbers."""

import bisect
import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rag.text.names import find_names
from rag.text.quantities.numbers import find_numbers, normalized_numbers
from rag.text.sentences.split_sentences import sentence_spans
from rag.text.words import content_words, is_function_word, split_words, stem

from .context_index import ContextIndex
from .token_comparison import TokenComparison, compare_tokens

# Weights of the evidence (docs/decisions/0030-answer-validation.md).
_WORD_WEIGHT, _WEAKEST_TOKEN_WEIGHT, _BIGRAM_WEIGHT, _NAME_WEIGHT, _NUMBER_WEIGHT = 1.0, 1.0, 0.4, 0.3, 0.5
# Share of the word evidence that comes from all words; the rest comes from content words only.
_ALL_WORDS_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of an answer.

    Attributes:
        start: Character offset in the answer.
        end: Character offset in the answer, exclusive.
        word_count: The number of the sentence's content words.
        score: How well the context supports the sentence, 0…1.
        context_span: Start and end of the most similar sentence of the context; None if no sentence is similar.
        unknown_names: The names of the sentence that the context does not contain.
        unknown_numbers: The numbers of the sentence that the context does not contain.
    """

    start: int
    end: int
    word_count: int
    score: float
    context_span: tuple[int, int] | None
    unknown_names: tuple[str, ...]
    unknown_numbers: tuple[str, ...]


def score_claims(answer: str, context: str, lang: str) -> list[Claim]:
    """Score each sentence of an answer that states something. A sentence quoted from the context scores 1.

    Without the local model, token vectors are not compared and the scores are less exact.

    Args:
        answer: The text to check.
        context: The text that must support it.
        lang: The language of the answer; empty for English.
    """
    index = ContextIndex(context, lang)
    spans = sentence_spans(answer)
    is_quoted = all(index.contains_verbatim(answer[start:end]) for start, end in spans)
    comparison = None if is_quoted else compare_tokens(answer, index)
    scored = [_score_claim(answer, span, index, comparison) for span in spans]
    claims = [claim for claim in scored if claim is not None]
    # Phrases such as "Yes, of course." only count if the answer has no other sentence.
    return [claim for claim in claims if claim.word_count > 1] or claims


def _score_claim(
    answer: str, span: tuple[int, int], context: ContextIndex, comparison: TokenComparison | None
) -> Claim | None:
    """Score the sentence of the answer at this span; None if it contains no word."""
    start, end = span
    text, lang = answer[start:end], context.lang
    all_stems = [stem(word, lang) for word in split_words(text, lang)]
    if not all_stems:
        return None
    words = content_words(text, lang)
    content_stems = [stem(word, lang) for word in words]
    names, numbers = list(find_names(text)), list(find_numbers(text))
    unknown_names = [name for name in names if not context.contains_name(name)]
    unknown_numbers = [number for number in numbers if not normalized_numbers(number.text) <= context.numbers]
    word_score = (1 - _ALL_WORDS_SHARE) * _known_share(content_stems, context.stems)
    word_score += _ALL_WORDS_SHARE * _known_share(all_stems, context.stems)
    evidence = [
        (_WORD_WEIGHT, word_score),
        (_BIGRAM_WEIGHT, _known_share(list(pairwise(all_stems)), context.stem_bigrams)),
        (_NAME_WEIGHT, 1 - len(unknown_names) / len(names) if names else 1.0),
        (_NUMBER_WEIGHT, 1 - len(unknown_numbers) / len(numbers) if numbers else 1.0),
    ]
    tokens = comparison.tokens_within(start, end, answer) if comparison else []
    if comparison and tokens:
        evidence.append((_WEAKEST_TOKEN_WEIGHT, float(max(0.0, comparison.similarities[tokens].min()))))
    context_offsets = [comparison.context_offsets[token] for token in tokens] if comparison else []
    weighted_mean = sum(map(math.prod, evidence)) / sum(weight for weight, _ in evidence)
    return Claim(
        start=start,
        end=end,
        word_count=sum(not is_function_word(word, lang) for word in words),
        score=1.0 if context.contains_verbatim(text) else weighted_mean,
        context_span=_closest_sentence(frozenset(content_stems), context, context_offsets),
        unknown_names=tuple(dict.fromkeys(name.text for name in unknown_names)),
        unknown_numbers=tuple(dict.fromkeys(number.text for number in unknown_numbers)),
    )


def _known_share(items: Sequence[Hashable], known: frozenset[Hashable]) -> float:
    return sum(item in known for item in items) / len(items) if items else 1.0


def _closest_sentence(
    claim_stems: frozenset[str], context: ContextIndex, context_offsets: Sequence[int]
) -> tuple[int, int] | None:
    """Return the sentence that has the largest shares of the claim's stems and of its most similar tokens."""
    shared_stems = context.count_shared_stems(claim_stems)
    starts = context.sentence_starts
    sentences = [bisect.bisect_right(starts, offset) - 1 for offset in context_offsets]
    shared_tokens = Counter(
        sentence
        for sentence, offset in zip(sentences, context_offsets, strict=True)
        if sentence >= 0 and offset < context.sentences[sentence][1]
    )

    def similarity(sentence: int) -> float:
        return shared_stems.counts[sentence] / max(1, len(claim_stems)) + shared_tokens[sentence] / max(
            1, len(context_offsets)
        )

    # Of the sentences without a similar token only the first with the most stems can be the best.
    best = min(
        {*shared_stems.first_best, *shared_tokens}, key=lambda sentence: (-similarity(sentence), sentence), default=None
    )
    return None if best is None else context.sentences[best]
