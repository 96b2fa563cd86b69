"""From a text to its terms: words, and the parts of its identifiers, stemmed by PostgreSQL and hashed to numbers."""

import functools
import hashlib
import re
import threading
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from django.db import connection

from rag.models.content.index_tables import TERM_DIMENSIONS
from rag.text.words import LETTERS, is_unspaced, character_bigrams

# Letters and digits; an underscore inside is part of an identifier.
_TOKEN = re.compile(rf"{LETTERS}(?:_+{LETTERS})*")
# Of an identifier: HTTP, Server, name, 2.
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\dA-Za-z_]+")
_IS_CODE = re.compile(r"[\d_]")
_IS_IDENTIFIER = re.compile(r"_|[a-z][A-Z]|[A-Z]{2}[a-z]|[A-Za-z][0-9]|[0-9][A-Za-z]")
# Longer ones are no words; what they begin with still tells them apart.
_MOST_LETTERS = 64
# Of a text without spaces.
_MOST_UNSPACED = 20_000
_MOST_REMEMBERED = 100_000
# PostgreSQL's numbers of token types: words in ASCII letters, and in any.
_ASCII_WORD, _WORD = 1, 2

_TERMS = "SELECT word, (ts_lexize(%s::regdictionary, word))[1] FROM unnest(%s::text[]) AS word"


class Stemmer:
    """Remembers the terms of words that it met. One for a process; threads may share it."""

    def __init__(self) -> None:
        self._terms: dict[str, dict[str, int | None]] = {}
        self._dictionaries: dict[tuple[str, int], str] = {}
        self._lock = threading.Lock()

    def terms(self, texts: Sequence[str], configs: Sequence[str]) -> list[list[int]]:
        """Of each text, stemmed by its configuration: its terms in order, each as often as it occurs, without stop
        words. What is new to it in all of them is asked for at once."""
        split = [words_of(text) for text in texts]
        new: dict[str, set[str]] = {config: set() for config in configs}
        for words, config in zip(split, configs, strict=True):
            new[config].update(words)
        known = {config: self.terms_of(words, config) for config, words in new.items()}
        return [
            [term for word in words if (term := known[config][word]) is not None]
            for words, config in zip(split, configs, strict=True)
        ]

    def terms_of(self, words: Iterable[str], config: str) -> Mapping[str, int | None]:
        """The term of each word, and of other words; None for a stop word."""
        known = self._terms.get(config)
        if known is None or len(known) > _MOST_REMEMBERED:
            known = self._terms[config] = {}
        if new := {word for word in words if word not in known}:
            stems = self._stems(new, config)
            known.update((word, term_of(stems[word]) if stems[word] else None) for word in new)
        return known

    def _stems(self, words: set[str], config: str) -> dict[str, str]:
        """Empty for stop words. What has digits or underscores stays as it is, as in PostgreSQL."""
        stems = {word: word for word in words if _IS_CODE.search(word)}
        letters = words - stems.keys()
        ascii_words = {word for word in letters if word.isascii()}
        with connection.cursor() as cursor:
            for kind, some in ((_ASCII_WORD, ascii_words), (_WORD, letters - ascii_words)):
                if some:
                    cursor.execute(_TERMS, [self._dictionary(config, kind), list(some)])
                    stems.update((word, stem or "") for word, stem in cursor.fetchall())
        return stems

    def _dictionary(self, config: str, kind: int) -> str:
        """Which dictionary stems this kind of words: in a Russian text English ones are stemmed as English."""
        with self._lock:
            if not self._dictionaries:
                with connection.cursor() as cursor:
                    cursor.execute(
                        "SELECT cfgname, maptokentype, mapdict::regdictionary::text FROM pg_ts_config_map "
                        "JOIN pg_ts_config AS config ON config.oid = mapcfg "
                        "WHERE cfgnamespace = 'pg_catalog'::regnamespace AND maptokentype = ANY(%s)",
                        [[_ASCII_WORD, _WORD]],
                    )
                    self._dictionaries = {(name, kind): dictionary for name, kind, dictionary in cursor.fetchall()}
            # An older PostgreSQL lacks some languages; words of theirs are left as they are.
            return self._dictionaries.get((config, kind)) or self._dictionaries["simple", kind]


def words_of(text: str) -> list[str]:
    """In lower case and in order; of an identifier itself, then its parts: getusername, get, user, name."""
    found = _TOKEN.findall(text if text.isascii() else unicodedata.normalize("NFKC", text))
    return [word for token in found for word in _split(token)]


@functools.lru_cache(maxsize=_MOST_REMEMBERED)
def _split(token: str) -> tuple[str, ...]:
    if not token.isascii() and is_unspaced(token):
        return tuple(part.lower() for part in character_bigrams(token[:_MOST_UNSPACED]))
    whole = token.lower()[:_MOST_LETTERS]
    if not _IS_IDENTIFIER.search(token):
        return (whole,)
    parts = [part.lower()[:_MOST_LETTERS] for part in _PART.findall(token)]
    return (whole, *parts) if len(parts) > 1 else (whole,)


def term_of(stem: str) -> int:
    """Its number, from 0 and less than TERM_DIMENSIONS."""
    return int.from_bytes(hashlib.blake2b(stem.encode(), digest_size=8).digest()) % TERM_DIMENSIONS


stemmer = Stemmer()
