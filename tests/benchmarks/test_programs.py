"""The programs of benchmarks set Django up themselves, so their modules must not import models."""

import os
import subprocess
import sys
from pathlib import Path

_CHECKOUT = Path(__file__).parents[2]
_PROGRAM = '__name__ == "__main__"'
# Environments of their own, with libraries that the product does not have.
_SEPARATE = ("peers/stores", "training")


def test_programs_can_be_imported_before_django_is_set_up() -> None:
    files = [
        file.relative_to(_CHECKOUT)
        for file in sorted((_CHECKOUT / "benchmarks").rglob("*.py"))
        if _PROGRAM in file.read_text() and not any(f"benchmarks/{name}/" in str(file) for name in _SEPARATE)
    ]
    modules = [".".join(file.with_suffix("").parts) for file in files]
    assert "benchmarks.search.growth.size" in modules
    code = f"import importlib\nfor name in {modules}: importlib.import_module(name)"
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=_CHECKOUT, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr[-2000:]
