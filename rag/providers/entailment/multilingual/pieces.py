"""Splits texts into the pieces of a unigram model (Kudo 2018), whose table of 250,000 pieces is mapped from a file.

A library keeps such a table as a tree of 200 MB in each process. Here it is an array sorted by hashes, 4 MB, and all
substrings of a text's words are looked up at once.
"""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

# What SentencePiece writes for a space.
_SPACE = "▁"
# SentencePiece's default, and the length of the longest pieces.
_MAX_PIECE = 16
# Longer words, such as a paragraph of Chinese, are split without regard to pieces across these bounds.
_MAX_WORD = 128
_UNKNOWN, _FIRST_PIECE = 3, 4
_UNKNOWN_PENALTY = 10.0
# Words are repeated within a text, and between the texts of a search. Then the oldest half is forgotten.
_MAX_KNOWN_WORDS = 8192

Hashes = NDArray[np.uint64]
# The pieces in ascending order of their hashes, their logarithmic probabilities and numbers.
TABLE_ROW = np.dtype([("hash", "<u8"), ("score", "<f4"), ("id", "<i4")])

_BASE = 0x9E3779B97F4A7C15  # odd, so that it has an inverse modulo 2^64
_POWERS: Hashes = np.array([pow(_BASE, place, 1 << 64) for place in range(_MAX_WORD)], np.uint64)
_INVERSES: Hashes = np.array([pow(_BASE, -place, 1 << 64) for place in range(_MAX_WORD)], np.uint64)
# The bounds of all substrings of the longest word that a piece can be.
_STARTS, _ENDS = (
    bounds.ravel()
    for bounds in np.broadcast_arrays(
        np.arange(_MAX_WORD)[:, None], np.arange(_MAX_WORD)[:, None] + np.arange(1, _MAX_PIECE + 1)
    )
)


class PieceSplitter:
    """The tokenizer of XLM-RoBERTa without its special tokens. Calls may run in parallel threads."""

    def __init__(self, table: NDArray[np.void], replacements: Mapping[int, str]) -> None:
        """Keep the table.

        Args:
            table: What `hash_pieces` returns.
            replacements: What single characters are written as, such as full-width letters.
        """
        self._hashes, self._scores, self._ids = table["hash"].copy(), table["score"], table["id"]
        self._replacements = replacements
        self._unknown_score = float(self._scores.min()) - _UNKNOWN_PENALTY
        self._known: dict[str, tuple[int, ...]] = {}

    def ids(self, text: str) -> list[int]:
        """Return the numbers of the pieces of a text."""
        clean = unicodedata.normalize("NFC", text).translate(self._replacements)
        marked = (_SPACE + word for word in clean.split())
        words = [word[start : start + _MAX_WORD] for word in marked for start in range(0, len(word), _MAX_WORD)]
        split = {word: self._known[word] for word in words if word in self._known}
        split |= self._split(dict.fromkeys(word for word in words if word not in split))
        return [piece for word in words for piece in split[word]]

    def _split(self, words: Iterable[str]) -> dict[str, tuple[int, ...]]:
        """Return the pieces of new words, and keep them."""
        splits = {word: self._find_best_split(word) for word in words}
        if len(self._known) + len(splits) > _MAX_KNOWN_WORDS:
            self._known = dict(list(self._known.items())[_MAX_KNOWN_WORDS // 2 :])
        self._known.update(splits)
        return splits

    def _find_best_split(self, word: str) -> tuple[int, ...]:
        """Return the pieces of a word with the highest sum of scores (Viterbi)."""
        best = [0.0] + [-np.inf] * len(word)
        came_from: list[tuple[int, int]] = [(0, 0)] * len(best)
        for start, pieces in enumerate(self._find_pieces(word)):
            for end, score, piece in (*pieces, (start + 1, self._unknown_score, _UNKNOWN)):
                if best[start] + score > best[end]:
                    best[end], came_from[end] = best[start] + score, (start, piece)
        backwards, end = [], len(word)
        while end:
            end, piece = came_from[end]
            backwards.append(piece)
        return tuple(reversed(backwards))

    def _find_pieces(self, word: str) -> list[list[tuple[int, float, int]]]:
        """Return for each position in the word the ends, scores and numbers of the pieces that begin there."""
        sums = np.zeros(len(word) + 1, np.uint64)
        np.cumsum(_code_points(word) * _POWERS[: len(word)], out=sums[1:])
        count = len(word) * _MAX_PIECE
        fits = _ENDS[:count] <= len(word)
        starts, ends = _STARTS[:count][fits], _ENDS[:count][fits]
        hashes = (sums[ends] - sums[starts]) * _INVERSES[starts]
        rows = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        (matching,) = np.nonzero(self._hashes[rows] == hashes)
        rows = rows[matching]
        by_start: list[list[tuple[int, float, int]]] = [[] for _ in word]
        columns = (starts[matching], ends[matching], self._scores[rows], self._ids[rows])
        for start, end, score, piece in zip(*(column.tolist() for column in columns), strict=True):
            by_start[start].append((end, score, piece))
        return by_start


def hash_pieces(pieces: Sequence[str], scores: NDArray[np.float32]) -> NDArray[np.void]:
    """Return the pieces that a text can have as rows of a table, from all pieces in the order of their numbers."""
    lengths = np.array([len(piece) for piece in pieces])
    letters = np.zeros((len(pieces), _MAX_PIECE), np.uint64)
    for length in range(1, _MAX_PIECE + 1):
        (of_length,) = np.nonzero(lengths == length)
        joined = "".join(pieces[place] for place in of_length.tolist())
        letters[of_length, :length] = _code_points(joined).reshape(-1, length)
    table = np.zeros(len(pieces), TABLE_ROW)
    table["hash"] = (letters * _POWERS[:_MAX_PIECE]).sum(axis=1, dtype=np.uint64)
    table["score"], table["id"] = scores, np.arange(len(pieces))
    usable = table[(lengths > 0) & (lengths <= _MAX_PIECE) & (table["id"] >= _FIRST_PIECE)]
    return np.sort(usable, order="hash")


def _code_points(text: str) -> Hashes:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint64)
