"""Settings from the environment, as a new process reads them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.checks.registry import registry
from django.core.exceptions import ImproperlyConfigured

import ragsite
from accounts.settings_checks import check_unknown_variables
from ragsite.settings.env import RecordingEnv

ROOT = Path(__file__).parents[3]

_SHOW = (
    "import json, ragsite.settings.rag as s; print(json.dumps([s.LLM_API_KEY, s.LLM_BASE_URL, s.LLM_TIMEOUT,"
    " s.RAG_CONFIDENCE_HIGH_THRESHOLD, s.RAG_CONFIDENCE_MEDIUM_THRESHOLD, s.RAG_EMBEDDING_MODEL]))"
)
_NAMES = ("LLM_", "RAG_CONFIDENCE_", "RAG_EMBEDDING_MODEL")
_KEYS = ("OPENAI_API_KEY", "OPENROUTER_API_KEY", "LOVABLE_API_KEY")


def settings(**variables: str) -> list[object]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_NAMES + _KEYS)}
    command = [sys.executable, "-c", _SHOW]
    process = subprocess.run(command, env={**environment, **variables}, capture_output=True, text=True, check=True)
    return list(json.loads(process.stdout))


@pytest.mark.parametrize(
    ("variables", "key", "base_url"),
    [
        ({"LOVABLE_API_KEY": "l"}, "l", "https://ai.gateway.lovable.dev/v1"),
        ({"LOVABLE_API_KEY": "l", "OPENROUTER_API_KEY": "r"}, "r", "https://openrouter.ai/api/v1"),
        ({"OPENROUTER_API_KEY": "r", "OPENAI_API_KEY": "o"}, "o", "https://api.openai.com/v1"),
        ({"OPENAI_API_KEY": "o", "LLM_API_KEY": "k", "LLM_BASE_URL": "http://ollama/v1"}, "k", "http://ollama/v1"),
    ],
)
def test_the_key_of_the_language_model(variables: dict[str, str], key: str, base_url: str) -> None:
    """Shared rules: "`LLM_API_KEY` (where unset: `OPENAI_API_KEY`, `OPENROUTER_API_KEY`, `LOVABLE_API_KEY`)"."""
    assert settings(**variables)[:2] == [key, base_url]


def test_defaults_and_thresholds() -> None:
    """Shared rules: `LLM_TIMEOUT`, 60 s; `RAG_CONFIDENCE_…_THRESHOLD`, 0.75 and 0.60; `all-MiniLM-L6-v2`."""
    assert settings()[2:] == [60.0, 0.75, 0.6, "all-MiniLM-L6-v2"]
    variables = {"RAG_CONFIDENCE_HIGH_THRESHOLD": "0.7", "RAG_CONFIDENCE_MEDIUM_THRESHOLD": "0.5", "LLM_TIMEOUT": "5"}
    assert settings(**variables)[2:5] == [5.0, 0.7, 0.5]


def test_a_folder_that_cannot_be_written_to_is_named_in_one_sentence() -> None:
    """An operator who runs a command as a user other than the server got a traceback."""
    environment = {**os.environ, "RAG_TEMP_FOLDER": "/dev/null/tmp"}
    command = [sys.executable, "manage.py", "check"]
    process = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert process.returncode == 1
    assert "RAG_TEMP_FOLDER cannot be created" in process.stderr
    assert "Traceback" not in process.stderr


def test_an_unknown_variable_is_reported_with_its_likely_spelling(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RAG_JOB_RETENTION_DAY", "RAG_TOTALLY_DIFFERENT_THING_HERE_XYZ"):
        monkeypatch.setenv(name, "1")
    for name in ("RAG_JOB_RETENTION_DAYS", "RAG_DEMO", "RAGSITE_DATA"):
        monkeypatch.setenv(name, "5")
    assert check_unknown_variables in registry.get_checks(), "`check` and `migrate` make it"
    assert [(warning.id, warning.msg, warning.hint) for warning in check_unknown_variables()] == [
        (
            "ragsite.W001",
            "The environment variable RAG_JOB_RETENTION_DAY has no effect.",
            "Did you mean RAG_JOB_RETENTION_DAYS?",
        ),
        (
            "ragsite.W001",
            "The environment variable RAG_TOTALLY_DIFFERENT_THING_HERE_XYZ has no effect.",
            "docs/operations/settings.md lists all settings.",
        ),
    ]


def test_a_former_setting_is_reported_with_what_holds_now() -> None:
    environment = {**os.environ, "RAG_LEASE_SECONDS": "60", "RAG_MAX_UPLOAD_BYTES": "5", "RAG_OCR_TIMEOUT_SECONDS": "5"}
    command = [sys.executable, "manage.py", "check"]
    process = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert "The environment variable RAG_LEASE_SECONDS has no effect." in process.stderr
    assert "It was a setting of an earlier version. A worker that does not respond" in process.stderr
    assert "A form has at most 1 GiB" in process.stderr
    assert "Text recognition takes at most 600 seconds" in process.stderr


def derived(**variables: str) -> list[object]:
    """Settings that follow from others."""
    names = ("RAG_MAX_UPLOAD_BYTES", "RAG_OCR_TIMEOUT_SECONDS", "CSRF_TRUSTED_ORIGINS")
    command = [sys.executable, "-c", f"import json, ragsite.settings as s; print(json.dumps([s.{', s.'.join(names)}]))"]
    process = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=True)
    return list(json.loads(process.stdout))


def test_a_form_has_room_for_the_largest_file() -> None:
    assert derived(RAG_MAX_FILE_BYTES="1000")[0] == 2**30
    assert derived(RAG_MAX_FILE_BYTES=str(2**31), RAG_MAX_BODY_BYTES="500")[0] == 2**31 + 500


def test_text_recognition_has_time_for_its_pages() -> None:
    assert derived()[1] == derived(RAG_OCR_MAX_PAGES="3")[1] == 600
    assert derived(RAG_OCR_MAX_PAGES="150")[1] == derived(RAG_PARSE_TIMEOUT_SECONDS="900")[1] == 900


def test_forms_of_the_public_address_are_accepted() -> None:
    assert derived()[2] == derived(RAG_PUBLIC_URL="rag.example.com")[2] == []
    variables = {"RAG_PUBLIC_URL": "https://rag.example.com:8443/", "CSRF_TRUSTED_ORIGINS": "https://b.example"}
    assert derived(**variables)[2] == ["https://b.example", "https://rag.example.com:8443"]


def test_limits_of_requests_a_minute_are_merged_with_the_defaults() -> None:
    command = [sys.executable, "-c", "import ragsite.settings as s; print(s.RAG_REQUESTS_PER_MINUTE)"]
    environment = {**os.environ, "RAG_REQUESTS_PER_MINUTE": "queries=7,ip=9"}
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "'queries': 7" in process.stdout
    assert "'ip': 9" in process.stdout
    assert "'ingestions': 600" in process.stdout
    environment["RAG_REQUESTS_PER_MINUTE"] = "query=7"
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "RAG_REQUESTS_PER_MINUTE does not know query" in process.stderr


def test_the_changelog_contains_the_released_version() -> None:
    assert f"## [{ragsite.__version__}] - " in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("RAG_TOKEN_SIGNATURES", "remote", "RAG_TOKEN_SIGNATURES must be local, all or off."),
        ("RAG_ENTAILMENT_DIALECT", "cohere", "RAG_ENTAILMENT_DIALECT must be tei or score."),
        ("RAG_ENTAILMENT_MODEL", "nli", "RAG_ENTAILMENT_MODEL needs RAG_ENTAILMENT_BASE_URL"),
    ],
)
def test_an_unknown_choice_is_rejected_at_start(name: str, value: str, message: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as failure:
        settings(**{name: value})
    assert message in failure.value.stderr


@pytest.mark.parametrize(
    "value", ["files.internal,10.0.0.0/8", '["files.internal"]', '{"acme": "files.internal"}', "{"]
)
def test_private_hosts_are_never_for_all_organizations_by_mistake(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("RAG_SYNC_PRIVATE_HOSTS", value)
    with pytest.raises(ImproperlyConfigured, match=r"RAG_SYNC_PRIVATE_HOSTS must be JSON .* by its slug"):
        RecordingEnv().lists_by_organization("RAG_SYNC_PRIVATE_HOSTS")


def test_lists_by_organization(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_SYNC_FOLDERS", '{"acme": ["/srv/acme"], "*": []}')
    assert RecordingEnv().lists_by_organization("RAG_SYNC_FOLDERS") == {"acme": ["/srv/acme"], "*": []}
    monkeypatch.setenv("RAG_SYNC_FOLDERS", "")
    assert RecordingEnv().lists_by_organization("RAG_SYNC_FOLDERS") == {}
