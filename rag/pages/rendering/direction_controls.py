"""Shows controls of the direction of writing within code, where they hide what a command or a program does."""

import re

# Embeddings, overrides, isolates and their ends (Unicode Standard Annex 9). People who write languages from right to
# left need them in sentences. In code they hide the order in which it is executed (CVE-2021-42574).
_CONTROL = re.compile("[\u202a-\u202e\u2066-\u2069]")


def show_controls(code: str) -> str:
    """Return code with the names of the controls in place of them, such as `‹U+202E›`."""
    return _CONTROL.sub(lambda control: f"‹U+{ord(control[0]):04X}›", code)
