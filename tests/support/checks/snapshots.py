"""Compares success bodies with files: a field that is added, removed or changes its type fails a test.

`make test ARGS=tests/contracts UPDATE_SNAPSHOTS=1` rewrites the files; review the diff.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "contracts" / "snapshots"
_VOLATILE = {
    "<id>": r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}",
    "<time>": r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)",
    "<jwt>": r"eyJ[\w-]+\.[\w-]+\.[\w-]+",
}


def assert_matches(name: str, body: Any) -> None:
    """Compare the body with snapshots/<name>.json, after replacing volatile values by placeholders."""
    file = FOLDER / f"{name}.json"
    text = json.dumps(steady(body), indent=2, ensure_ascii=False, sort_keys=True) + "\n"
    if os.environ.get("UPDATE_SNAPSHOTS") == "1":
        FOLDER.mkdir(exist_ok=True)
        file.write_text(text)
    assert file.exists(), f"There is no {file}; UPDATE_SNAPSHOTS=1 writes it."
    assert json.loads(file.read_text()) == json.loads(text), (
        f"the body differs from {file.name}; see tests/support/checks/snapshots.py"
    )


def steady(value: Any) -> Any:
    """Replace ids, times and tokens by placeholders of their kind, and fractions (scores, durations) by <number>."""
    if isinstance(value, dict):
        return {steady(name): steady(item) for name, item in value.items()}
    if isinstance(value, list):
        return [steady(item) for item in value]
    if isinstance(value, float):
        return "<number>"
    if isinstance(value, str):
        for placeholder, pattern in _VOLATILE.items():
            value = re.sub(pattern, placeholder, value)
    return value
