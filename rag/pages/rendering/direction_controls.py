"""Shows controls of the direction of writing where they hide what is written: in code, and in names of files.

Templates load the filter for names with `load direction_controls`.
"""

import re

from django import template

register = template.Library()
# Embeddings, overrides, isolates and their ends (Unicode Standard Annex 9). People who write languages from right to
# left need them in sentences. In code they hide the order in which it is executed (CVE-2021-42574).
_CONTROL = re.compile("[\u202a-\u202e\u2066-\u2069]")
# Overrides, which reverse letters: a name that ends in `fdp.exe` looks like one of a PDF. Nobody needs them in names.
_OVERRIDE = re.compile("[\u202d\u202e]")


def show_controls(code: str) -> str:
    """Return code with the names of the controls in place of them, such as `‹U+202E›`."""
    return _CONTROL.sub(_code_point, code)


@register.filter
def show_overrides(name: str) -> str:
    """Return the title or path of a document with the names of the controls that reverse letters in place of them."""
    return _OVERRIDE.sub(_code_point, name)


def _code_point(control: re.Match[str]) -> str:
    return f"‹U+{ord(control[0]):04X}›"
