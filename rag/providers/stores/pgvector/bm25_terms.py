"""Text -> terms: words and the parts of identifiers, stemmed by PostgreSQL and hashed to numbers.

The stemmer of rag/text/words.py is not used, because terms must be stemmed as PostgreSQL's dictionaries stem, stop
words included, for every language of PostgreSQL, and the results are cached and stored. words.py uses Snowball's
algorithms and its own stop words, without a database, on single sentences, with other rules for apostrophes.
"""

import functools
import hashlib
import re
import threading
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from django.db import connection

from rag.models.content.pgvector_tables import TERM_DIMENSIONS
from rag.text.words import LETTERS, character_bigrams, is_unspaced
from ragsite.postgres.base import read_rows

# Letters and digits; an underscore between them is part of an identifier.
_TOKEN = re.compile(rf"{LETTERS}(?:_+{LETTERS})*")
# The parts of an identifier: HTTP, Server, name, 2.
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\dA-Za-z_]+")
_IS_CODE = re.compile(r"[\d_]")
_IS_IDENTIFIER = re.compile(r"_|[a-z][A-Z]|[A-Z]{2}[a-z]|[A-Za-z][0-9]|[0-9][A-Za-z]")
# A longer token is not a word; it is cut, because its beginning is enough to distinguish it.
_MAX_LETTERS = 64
# Maximum length of a run of characters in a script without spaces.
_MAX_UNSPACED_CHARACTERS = 20_000
_MAX_CACHED_WORDS = 100_000
# PostgreSQL's token types (ts_token_type): words of ASCII letters, and of any letters.
_ASCII_WORD, _WORD = 1, 2

_TERMS = "SELECT word, (ts_lexize(%s::regdictionary, word))[1] FROM unnest(%s::text[]) AS word"


class Stemmer:
    """Stems words and caches their terms. One per process; threads may share it."""

    def __init__(self) -> None:
        self._terms: dict[str, dict[str, int | None]] = {}
        self._dictionaries: dict[tuple[str, int], str] = {}
        self._lock = threading.Lock()

    def terms(self, texts: Sequence[str], configs: Sequence[str]) -> list[list[int]]:
        """Return the terms of each text.

        Words that are not cached are stemmed by one query per configuration and kind of word for all texts together.

        Args:
            texts: The texts.
            configs: The text search configuration of each text.

        Returns:
            The terms of each text, in order and with repetitions, without stop words.
        """
        words_by_text = [split_words_and_parts(text) for text in texts]
        words_by_config: dict[str, set[str]] = {config: set() for config in configs}
        for words, config in zip(words_by_text, configs, strict=True):
            words_by_config[config].update(words)
        terms_by_config = {config: self.terms_of_words(words, config) for config, words in words_by_config.items()}
        return [
            [term for word in words if (term := terms_by_config[config][word]) is not None]
            for words, config in zip(words_by_text, configs, strict=True)
        ]

    def terms_of_words(self, words: Iterable[str], config: str) -> Mapping[str, int | None]:
        """Return word → term; None for a stop word. The mapping also contains other cached words."""
        cache = self._terms.get(config)
        if cache is None or len(cache) > _MAX_CACHED_WORDS:
            cache = self._terms[config] = {}
        if new_words := {word for word in words if word not in cache}:
            stems = self._stems(new_words, config)
            cache.update((word, hash_stem(stems[word]) if stems[word] else None) for word in new_words)
        return cache

    def _stems(self, words: set[str], config: str) -> dict[str, str]:
        """Return the stem of each word, empty for stop words.

        Words with digits or underscores are not stemmed, as in PostgreSQL.
        """
        stems = {word: word for word in words if _IS_CODE.search(word)}
        letters = words - stems.keys()
        ascii_words = {word for word in letters if word.isascii()}
        for token_type, typed_words in ((_ASCII_WORD, ascii_words), (_WORD, letters - ascii_words)):
            if typed_words:
                rows = read_rows(_TERMS, [self._dictionary(config, token_type), list(typed_words)])
                stems.update((word, stem or "") for word, stem in rows)
        return stems

    def _dictionary(self, config: str, token_type: int) -> str:
        """Return the dictionary for this token type: in a Russian text, English words are stemmed as English."""
        with self._lock:
            if not self._dictionaries:
                with connection.cursor() as cursor:
                    cursor.execute(
                        "SELECT cfgname, maptokentype, mapdict::regdictionary::text FROM pg_ts_config_map "
                        "JOIN pg_ts_config AS config ON config.oid = mapcfg "
                        "WHERE cfgnamespace = 'pg_catalog'::regnamespace AND maptokentype = ANY(%s)",
                        [[_ASCII_WORD, _WORD]],
                    )
                    self._dictionaries = {
                        (name, token_type): dictionary for name, token_type, dictionary in cursor.fetchall()
                    }
            # An older PostgreSQL lacks some languages: their words are not stemmed.
            return self._dictionaries.get((config, token_type)) or self._dictionaries["simple", token_type]


def split_words_and_parts(text: str) -> list[str]:
    """Return the words of a text in lower case, in order.

    An identifier is followed by its parts: getUserName becomes getusername, get, user, name.
    """
    tokens = _TOKEN.findall(text if text.isascii() else unicodedata.normalize("NFKC", text))
    return [word for token in tokens for word in _split_token(token)]


@functools.lru_cache(maxsize=_MAX_CACHED_WORDS)
def _split_token(token: str) -> tuple[str, ...]:
    if not token.isascii() and is_unspaced(token):
        return tuple(part.lower() for part in character_bigrams(token[:_MAX_UNSPACED_CHARACTERS]))
    whole = token.lower()[:_MAX_LETTERS]
    if not _IS_IDENTIFIER.search(token):
        return (whole,)
    parts = [part.lower()[:_MAX_LETTERS] for part in _PART.findall(token)]
    return (whole, *parts) if len(parts) > 1 else (whole,)


def hash_stem(stem: str) -> int:
    """Return the number that stands for a stem: 0 <= number < TERM_DIMENSIONS."""
    return int.from_bytes(hashlib.blake2b(stem.encode(), digest_size=8).digest()) % TERM_DIMENSIONS


stemmer = Stemmer()
