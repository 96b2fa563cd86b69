"""Programs of benchmarks and system tests set Django up themselves, so their modules must not import models."""

import os
import subprocess
import sys
from pathlib import Path

_CHECKOUT = Path(__file__).parents[2]
_PROGRAM = '__name__ == "__main__"'
# Environments of their own, with libraries that the product does not have.
_SEPARATE = (
    "benchmarks/peers/stores/",
    "benchmarks/training/",
    "tests/system/clients/",
    "tests/system/integrations/scim/",
)


def test_programs_can_be_imported_before_django_is_set_up() -> None:
    files = [
        file.relative_to(_CHECKOUT)
        for folder in ("benchmarks", "tests/system")
        for file in sorted((_CHECKOUT / folder).rglob("*.py"))
        if _PROGRAM in file.read_text()
    ]
    modules = [".".join(file.with_suffix("").parts) for file in files if not str(file).startswith(_SEPARATE)]
    assert {"benchmarks.search.growth.size", "tests.system.restore.content"} <= set(modules)
    code = f"import importlib\nfor name in {modules}: importlib.import_module(name)"
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    environment["PYTHONPATH"] = str(_CHECKOUT / "clients" / "python" / "src")
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=_CHECKOUT, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr[-2000:]
