"""Looks for regular expressions whose time doubles with each repetition of a part.

For each repetition in a pattern, a text repeats what it repeats, and ends with what does not match. The name of each
pattern is written before it is tried, so that the last one is the culprit if the time runs out.
"""

import importlib
import pkgutil
import re
import re._constants as codes  # type: ignore[import-not-found]  # what `re` itself parses patterns with
import re._parser as parser  # type: ignore[import-not-found]
import sys
from collections.abc import Iterator
from typing import Any

_PACKAGES = ("accounts", "orgs", "rag", "ragsite")
_REPETITIONS = 28
_CHARACTERS = "a1 <-.,\n_[(\"'/:A>=&é中"
_ENDS = ("", "\0", "!")
_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT)


def main() -> None:
    for name, pattern in find_patterns():
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
        for text in hostile_texts(pattern):
            content: Any = text if isinstance(pattern.pattern, str) else text.encode("latin-1", "ignore")
            pattern.match(content)
            pattern.search(content)


def find_patterns() -> Iterator[tuple[str, re.Pattern[Any]]]:
    """Yield the name and the pattern of each module of the packages, once."""
    seen: set[re.Pattern[Any]] = set()
    for package in _PACKAGES:
        for module in pkgutil.walk_packages([package], f"{package}."):
            if ".migrations" in module.name or ".management" in module.name:
                continue
            for name, value in list(vars(importlib.import_module(module.name)).items()):
                for pattern in _patterns_in(value):
                    if pattern not in seen:
                        seen.add(pattern)
                        yield f"{module.name}.{name}", pattern


def hostile_texts(pattern: re.Pattern[Any]) -> Iterator[str]:
    """Yield texts that repeat what a part of the pattern repeats."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    tree = parser.parse(source, pattern.flags & ~re.DEBUG)
    texts = {
        start + part * _REPETITIONS + end
        for preferred in _CHARACTERS
        for start, part in _repeated_parts(tree, "", preferred)
        for end in _ENDS
    }
    yield from sorted(texts)


def _patterns_in(value: object, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict | list | tuple) and depth < 3:
        for entry in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from _patterns_in(entry, depth + 1)


def _repeated_parts(tree: Any, start: str, preferred: str) -> Iterator[tuple[str, str]]:
    """Yield a text before each repetition in a parsed pattern, and a text that it repeats."""
    for code, value in tree:
        if code in _REPEATS:
            if value[1] > 1:
                yield start, _example(value[2], preferred)
            yield from _repeated_parts(value[2], start, preferred)
        elif code is codes.SUBPATTERN:
            yield from _repeated_parts(value[3], start, preferred)
        elif code is codes.BRANCH:
            for branch in value[1]:
                yield from _repeated_parts(branch, start, preferred)
        start += _example([(code, value)], preferred)


def _example(tree: Any, preferred: str) -> str:
    """Return a short text that the parsed pattern matches, with the preferred character where it has a choice."""
    return "".join(_example_of(code, value, preferred) for code, value in tree)


def _example_of(code: Any, value: Any, preferred: str) -> str:
    if code is codes.LITERAL:
        return chr(value)
    if code is codes.ANY:
        return preferred
    if code in (codes.NOT_LITERAL, codes.IN):
        members = [(code, value)] if code is codes.NOT_LITERAL else value
        return next((character for character in preferred + _CHARACTERS if _is_member(character, members)), "a")
    if code is codes.BRANCH:
        return _example(value[1][0], preferred)
    if code is codes.SUBPATTERN:
        return _example(value[3], preferred)
    if code in (*_REPEATS, codes.POSSESSIVE_REPEAT):
        return _example(value[2], preferred) * min(int(value[0]), 20)
    return _example(value, preferred) if code is codes.ATOMIC_GROUP else ""


def _is_member(character: str, members: Any) -> bool:
    is_negated = is_listed = False
    for code, value in members:
        is_negated |= code in (codes.NEGATE, codes.NOT_LITERAL)
        if code in (codes.LITERAL, codes.NOT_LITERAL):
            is_listed |= ord(character) == value
        elif code is codes.RANGE:
            is_listed |= value[0] <= ord(character) <= value[1]
        elif code is codes.CATEGORY:
            kind = str(value)
            tests = {"DIGIT": character.isdigit(), "SPACE": character.isspace(), "WORD": character.isalnum()}
            is_listed |= tests[kind.rsplit("_", 1)[-1]] != ("NOT" in kind)
    return is_listed != is_negated
