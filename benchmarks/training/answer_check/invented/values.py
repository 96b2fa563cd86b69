"""Random values, such as "£5" and "Monday to Friday from 8 am to 17:30"; values.toml has the patterns."""

import random
import string
import tomllib
from pathlib import Path

_PATTERNS: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("values.toml").read_text())


def fill(pattern: str, generator: random.Random) -> str:
    """Return the pattern with random values for what is in braces."""
    parts = []
    for literal, field, form, _ in string.Formatter().parse(pattern):
        parts.append(literal)
        if field:
            parts.append(_number(field, form or "", generator) if field[0].isdigit() else choose(field, generator))
    return "".join(parts)


def choose(name: str, generator: random.Random) -> str:
    """Return a random value of this entry of values.toml."""
    return fill(generator.choice(_PATTERNS[name]), generator)


def _number(limits: str, form: str, generator: random.Random) -> str:
    low, high = limits.split("-")
    decimals = len(low.partition(".")[2])
    if decimals:
        return format(generator.uniform(float(low), float(high)), f"{form}.{decimals}f")
    return format(generator.randint(int(low), int(high)), form)
