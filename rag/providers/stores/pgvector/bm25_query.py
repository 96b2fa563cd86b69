"""BM25 in PostgreSQL: the words of a query and their weights (docs/decisions/0023-bm25-in-postgresql.md)."""

import math
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag.models.content.pgvector_tables import TERM_DIMENSIONS
from rag.models.search.granted_scopes import grant_values
from rag.text import languages
from rag.text.function_words import FUNCTION_WORDS
from rag.text.question_language import foreign_function_words
from rag.types import SearchScope
from ragsite.postgres.base import read_rows
from ragsite.postgres.statements.round_trips import Value

from .bm25_terms import split_words_and_parts, stemmer
from .search_arguments import SCOPE

# Above the limit of exact search, candidates are looked up by the rarest words of the query: as many words as have at
# most this document frequency together.
_MAX_LOOKED_UP_CHUNKS = 5_000
# Organisations → the text search configurations of their chunks when they were last searched, so that words are stemmed
# before it is known which configurations are in scope.
_expected_configs: dict[tuple[uuid.UUID, ...], frozenset[str]] = {}
_MAX_EXPECTED = 10_000
_USUAL_CONFIGS = frozenset({"english"})
_COUNT_TERMS = f"SELECT config, term, chunks FROM rag_count_terms({SCOPE}, %s::int[])"


@dataclass(frozen=True, slots=True)
class QueryWord:
    """A word of the query.

    Attributes:
        terms: The stemmed, hashed word: one term per text search configuration in scope.
        count: How often the word occurs in the query.
        chunk_count: The document frequency: how many chunks contain the word.
        idf: The inverse document frequency of BM25.
    """

    terms: frozenset[int]
    count: int
    chunk_count: int
    idf: float


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """The words of a query, with their frequencies in the searched sources (`chunk_count` chunks together)."""

    words: tuple[QueryWord, ...]
    chunk_count: int

    @property
    def weights(self) -> dict[int, float]:
        """The weight of each term, in ascending order of the terms."""
        weights: Counter[int] = Counter()
        for word in self.words:
            weights.update(dict.fromkeys(word.terms, word.count * word.idf))
        return dict(sorted(weights.items()))

    @property
    def vector(self) -> str | None:
        """The weights in pgvector's text format of a sparse vector; None if no chunk has one of the words."""
        if not any(word.chunk_count for word in self.words):
            return None
        pairs = ",".join(f"{term + 1}:{weight:.9g}" for term, weight in self.weights.items())
        return f"{{{pairs}}}/{TERM_DIMENSIONS}"

    @property
    def rare_terms(self) -> list[int]:
        """The terms by which candidates are looked up.

        Those of the rarest words, while their document frequencies sum to at most _MAX_LOOKED_UP_CHUNKS; of at least
        one word. A common word matters little if a rarer one occurs.
        """
        terms, remaining = list[int](), _MAX_LOOKED_UP_CHUNKS
        words = [word for word in self.words if word.chunk_count]
        for word in sorted(words, key=lambda word: (word.chunk_count, sorted(word.terms))):
            remaining -= word.chunk_count
            if terms and remaining < 0:
                break
            terms += sorted(word.terms)
        return terms

    def coverage(self, terms: Sequence[int]) -> float:
        """Return the share of the words that a chunk with these terms contains, each weighted by its IDF, 0…1."""
        total_idf = sum(word.idf for word in self.words)
        return self._matched_idf(terms) / total_idf if total_idf and terms else 0.0

    def _matched_idf(self, terms: Sequence[int]) -> float:
        return sum(word.idf for word in self.words if not word.terms.isdisjoint(terms))


def build_query(text: str, scopes: Sequence[SearchScope]) -> LexicalQuery:
    """Stem the query's words, without stop words, and compute their IDF in the scopes' sources and no others.

    The query is stemmed with every text search configuration in scope. A word's document frequency is the sum over its
    stems, capped at the number of chunks; its IDF follows from that. Function words of a question in another language
    are left out whatever the configurations are. Function words that PostgreSQL takes for content words ("may", "use")
    count as far as chunks contain them: no answer lacks them.
    """
    ignored = foreign_function_words(text)
    words = [word for word in split_words_and_parts(text) if word not in ignored]
    configs, terms_by_config, chunks_by_term = _count(words, scopes)
    config = _query_config(text, configs) if configs else ""
    query_terms = terms_by_config.get(config, {})
    function_words = FUNCTION_WORDS.get(config, frozenset())
    counts: Counter[frozenset[int]] = Counter()
    for word in words:
        terms = frozenset(term for known in terms_by_config.values() if (term := known[word]) is not None)
        is_missing_function_word = word in function_words and not any(chunks_by_term.get(term) for term in terms)
        if query_terms.get(word) is not None and not is_missing_function_word:
            counts[terms] += 1
    total = sum(configs.values())
    query_words = []
    for terms, count in sorted(counts.items(), key=lambda item: sorted(item[0])):
        chunk_count = min(total, sum(chunks_by_term.get(term, 0) for term in terms))
        idf = math.log(1 + (total - chunk_count + 0.5) / (chunk_count + 0.5))
        query_words.append(QueryWord(terms, count, chunk_count, idf))
    return LexicalQuery(tuple(query_words), total)


def count_words(words: Sequence[str], scopes: Sequence[SearchScope], lang: str) -> dict[str, int]:
    """Return word → in how many chunks of the scopes' sources it occurs. A chunk with several forms counts once.

    In another language a word has other forms: as a Spanish word, "gradad" is a form of the German "Grad".

    Args:
        words: Words in lower case.
        scopes: Their sources count.
        lang: The language whose forms count; empty for those of all languages.
    """
    configs, terms_by_config, chunks_by_term = _count(words, scopes)
    total = sum(configs.values())
    # Words of an unknown language are not stemmed.
    counted = {languages.text_search_config(lang), languages.text_search_config("")} if lang else configs.keys()
    terms_of_words = [terms_by_config[config] for config in configs if config in counted]
    counts = {}
    for word in words:
        terms = {term for known in terms_of_words if (term := known[word]) is not None}
        counts[word] = min(total, sum(chunks_by_term.get(term, 0) for term in terms))
    return counts


def _all_sources(scopes: Sequence[SearchScope]) -> list[Value]:
    """Return the values of a scope with the sources of all scopes, of any model."""
    organization_ids = dict.fromkeys(key for scope in scopes for key in scope.public_in)
    source_ids = dict.fromkeys(key for scope in scopes for key in scope.source_ids)
    grants = next((scope.grants for scope in scopes if scope.grants), None)  # all of them have the same caller
    return [None, list(organization_ids), None, None, list(source_ids), *grant_values(grants)]


def _count(
    words: Sequence[str], scopes: Sequence[SearchScope]
) -> tuple[dict[str, int], dict[str, Mapping[str, int | None]], dict[int, int]]:
    """Count the chunks of the sources' text search configurations, and the chunks with each of the words.

    The words are stemmed with the configurations that the latest search of the same organisations found. If there are
    others now, the words are counted again.

    Returns:
        Configuration → number of the sources' chunks that it has stemmed; configuration → term of each word, None for
        a stop word; term → number of the chunks that contain it.
    """
    sources = _all_sources(scopes)
    key = tuple(sorted({pk for scope in scopes for pk in (*scope.public_in, *scope.organization_ids)}))
    stemmed = _expected_configs.get(key, _USUAL_CONFIGS)
    while True:
        terms_by_config = {config: stemmer.terms_of_words(words, config) for config in stemmed}
        all_terms = {term for terms in terms_by_config.values() for word in words if (term := terms[word]) is not None}
        configs, chunks_by_term = _read_counts(sources, sorted(all_terms))
        if len(_expected_configs) > _MAX_EXPECTED:
            _expected_configs.clear()
        _expected_configs[key] = frozenset(configs)
        if configs.keys() <= stemmed:
            return configs, {config: terms_by_config[config] for config in configs}, chunks_by_term
        stemmed = frozenset(configs) | stemmed


def _read_counts(sources: Sequence[Value], terms: Sequence[int]) -> tuple[dict[str, int], dict[int, int]]:
    configs: dict[str, int] = {}
    chunks_by_term: dict[int, int] = {}
    for config, term, chunks in read_rows(_COUNT_TERMS, [*sources, list(terms)]):
        if term is None:
            configs[config] = chunks
        else:
            chunks_by_term[term] = chunks
    return configs, chunks_by_term


def _query_config(text: str, configs: dict[str, int]) -> str:
    """Return the text search configuration whose stop words are dropped from the query.

    It is the one of the query's language if that is detected and in scope, else the most frequent one.
    """
    if len(configs) > 1 and (lang := languages.detect_language(text)):
        config = languages.text_search_config(lang)
        if config in configs:
            return config
    return min(configs, key=lambda config: (-configs[config], config))
