"""What documentation, comments and messages mention exists: links, paths, settings, commands, modules, endpoints."""

import importlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from django.apps import apps as django_apps
from django.conf import settings
from django.core.management import get_commands
from django.urls import Resolver404, resolve

from accounts.settings_checks import FORMER_VARIABLES
from ragsite.celery import app

from . import project
from .project import ROOT, Text

# tests/docs/test_conformance_table.py
HAVE_TESTS_OF_THEIR_OWN = ("conformance.md", "security-tests.md")
MAX_LINES, MAX_ARCHITECTURE_LINES, MAX_README_LINES = 400, 300, 100
TOP_LEVEL = (*project.PACKAGES, "docs", "scripts", "templates", "static", "deploy", "clients")

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
PATH = re.compile(rf"(?<![\w/.:<-])((?:{'|'.join(TOP_LEVEL)})/(?:[\w./*<>-]|\{{[\w,]+\}})*[\w/*>}}])(?:::(\w+))?")
MODULE_FILE = re.compile(r"(?<![\w/.-])((?:services|pipeline|providers|contracts|parsing|models|types)/[\w/]+\.py)\b")
SECTION = re.compile(r"(docs/[\w/-]+\.md),\s*[\"“]([^\"”]+)[\"”]")
SETTING = re.compile(r"(?<![\w$])((?:RAG|LLM|RAGSITE)_[A-Z0-9_]*[A-Z0-9])(?![\w*])")
CONSTANT = re.compile(r"(?<![\w$/.-])([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?![\w*]|-)")
MAKE = re.compile(r"`make ([a-z][a-z-]*)|(?<=\n)make ([a-z][a-z-]*)(?=  |\n| [A-Z]+=)")
COMMAND = re.compile(r"manage\.py ([a-z][a-z_]*)")
MIGRATION = re.compile(r"(?<![\w/-])(\d{4}_[a-z]\w*)|\bmigrations? (\d{4})\b")
DOTTED = re.compile(rf"(?<![\w./@-])((?:{'|'.join(project.PACKAGES)})(?:\.[A-Za-z_]\w*)+)(?![\w/-]|\.[a-z])")
ENDPOINT = re.compile(r"\b(GET|POST|PUT|PATCH|DELETE) (?:http://127\.0\.0\.1:\d+)?(/[\w{}<>$./*…-]*)")
ADDRESS = re.compile(
    r"(?:http://127\.0\.0\.1:3080|`)(/(?:api|agent|functions|admin|healthz|readyz|metrics)[\w{}<>$./-]*)"
)

# Names of PostgreSQL's session settings, hosts and example files that look like modules.
NOT_MODULES = {"rag.identity", "rag.example", "rag.example.com", "ragsite.example"}


@pytest.fixture(scope="module")
def everything() -> tuple[Text, ...]:
    return (*project.pages(), *project.comments(), *project.strings())


def wrong(
    texts: Iterable[Text], pattern: re.Pattern[str], is_right: Callable[[Text, re.Match[str]], bool]
) -> list[str]:
    """Each match that is not right, with its place."""
    return [
        f"{text.at(match.start())}: {match.group().strip()}"
        for text in texts
        for match in pattern.finditer(text.text)
        if not is_right(text, match)
    ]


def test_links_lead_to_pages_and_sections() -> None:
    def is_right(page: Text, match: re.Match[str]) -> bool:
        target = match[1] or match[2]
        if re.match(r"[a-z]+:", target):
            return True
        name, _, anchor = target.partition("#")
        file = (ROOT / page.file.parent / name).resolve() if name else ROOT / page.file
        if not file.exists() or not file.is_relative_to(ROOT):
            return False
        return not anchor or anchor in project.headings(file.relative_to(ROOT))

    without_code = [Text(page.file, 1, _blank_code(page.text)) for page in project.pages()]
    assert wrong(without_code, LINK, is_right) == []


def _blank_code(text: str) -> str:
    return re.sub(r"^```.*?^```|`[^`\n]*`", lambda code: re.sub(r"[^\n]", " ", code[0]), text, flags=re.S | re.M)


def test_paths_exist() -> None:
    def is_right(_: Text, match: re.Match[str]) -> bool:
        path, function = match[1].rstrip("/."), match[2]
        if any(not _exists_in_tree(name) for name in _alternatives(path)):
            return False
        return not function or f"def {function}(" in (ROOT / path).read_text()

    pages = [page for page in project.pages() if page.file.name not in HAVE_TESTS_OF_THEIR_OWN]
    assert wrong((*pages, *project.comments()), PATH, is_right) == []


def _alternatives(path: str) -> list[str]:
    """a/{b,c} → a/b, a/c."""
    head, brace, rest = path.partition("{")
    inside, _, tail = rest.partition("}")
    return [head + name + tail for name in inside.split(",")] if brace else [path]


def _exists_in_tree(path: str) -> bool:
    pattern = re.sub(r"<[^>]*>", "*", path)
    return any((ROOT / name).exists() or any(ROOT.glob(name)) for name in (pattern, f"{pattern}.py"))


def test_files_of_packages_exist() -> None:
    texts = (*project.pages(), *project.comments())
    assert wrong(texts, MODULE_FILE, lambda _, match: (ROOT / "rag" / match[1]).exists()) == []


def test_sections_exist(everything: tuple[Text, ...]) -> None:
    def is_right(_: Text, match: re.Match[str]) -> bool:
        title = " ".join(match[2].split())
        return (ROOT / match[1]).exists() and title in project.headings(Path(match[1])).values()

    assert wrong(everything, SECTION, is_right) == []


def test_settings_exist(everything: tuple[Text, ...]) -> None:
    """A setting of our own is read from the environment, is one of Django's settings here, or was a setting."""

    def is_right(text: Text, match: re.Match[str]) -> bool:
        was_setting = text.file == Path("accounts/settings_checks.py") and match[1] in FORMER_VARIABLES
        return was_setting or _is_setting(match[1])

    assert wrong(everything, SETTING, is_right) == []


def test_handbooks_name_no_former_settings() -> None:
    handbooks = {("docs", name) for name in ("admin", "contracts", "operations", "user")}
    pages = [page for page in project.pages() if page.file.parts[:2] in handbooks]
    assert wrong(pages, SETTING, lambda _, match: match[1] not in FORMER_VARIABLES) == []
    assert FORMER_VARIABLES.keys().isdisjoint(settings.ENVIRONMENT_VARIABLES)


def _is_setting(name: str) -> bool:
    return name in project.variables() or hasattr(settings, name)


def test_other_names_in_capitals_exist() -> None:
    """Error codes, variables and constants in pages stand somewhere in the code.

    Operators name variables of keys, errors of browsers begin with ERR, and variables of n8n with NODE_FUNCTION.
    """

    def is_right(_: Text, match: re.Match[str]) -> bool:
        is_foreign = match[1].endswith("_API_KEY") or match[1].startswith(("ERR_", "NODE_FUNCTION_"))
        return is_foreign or match[1] in project.code_words()

    pages = [page for page in project.pages() if page.file.name != "CHANGELOG.md"]
    assert wrong(pages, CONSTANT, is_right) == []


def test_every_setting_is_documented() -> None:
    operations = "\n".join(page.text for page in project.pages() if page.file.parts[:2] == ("docs", "operations"))
    missing = [name for name in project.deployment_settings() if not re.search(rf"\b{name}\b", operations)]
    assert sorted(missing) == []


def test_every_setting_has_somebody_who_changes_it() -> None:
    decision = (ROOT / "docs/decisions/0085-settings.md").read_text()
    missing = [name for name in project.deployment_settings() if f"`{name}`" not in decision]
    assert sorted(missing) == []


def test_make_targets_exist(everything: tuple[Text, ...]) -> None:
    assert wrong(everything, MAKE, lambda _, match: (match[1] or match[2]) in project.make_targets()) == []


def test_management_commands_exist(everything: tuple[Text, ...]) -> None:
    assert wrong(everything, COMMAND, lambda _, match: match[1] in get_commands()) == []


def test_migrations_exist() -> None:
    stems = {file.stem for file in project.files() if file.parent.name == "migrations"}
    numbers = {stem[:4] for stem in stems}
    texts = (*project.pages(), *project.comments())
    assert wrong(texts, MIGRATION, lambda _, match: match[1] in stems or match[2] in numbers) == []


def test_modules_and_functions_exist() -> None:
    app.loader.import_default_modules()
    tasks = {name for name in app.tasks if name.startswith("rag.")}

    def is_right(_: Text, match: re.Match[str]) -> bool:
        name = match[1]
        is_file = re.search(r"\.(py|md|sql|html|json|toml|css|js|log|env|dump|tar|service|target)$", name)
        return name in NOT_MODULES or name in tasks or bool(is_file) or _exists(name) or _is_model(name)

    assert wrong((*project.pages(), *project.comments()), DOTTED, is_right) == []


def _is_model(label: str) -> bool:
    """Return whether this is `app.Model`."""
    app, _, model = label.partition(".")
    return app in django_apps.app_configs and model.lower() in django_apps.all_models[app]


def _exists(name: str) -> bool:
    """Return whether this is a module, a name in one, or an attribute of a class in one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        module = ".".join(parts[:length])
        names = project.names_in(module)
        if names is None:
            continue
        rest = parts[length:]
        if not rest:
            return True
        if rest[0] not in names:
            return False
        return len(rest) == 1 or module.startswith("tests") or _has_attributes(module, rest)
    return False


def _has_attributes(module: str, names: list[str]) -> bool:
    value: object = importlib.import_module(module)
    for name in names:
        if not hasattr(value, name) and name not in getattr(value, "__annotations__", {}):
            return False
        value = getattr(value, name, None)
    return True


def test_endpoints_exist(everything: tuple[Text, ...]) -> None:
    operations = json.loads((ROOT / "tests/contracts/openapi.json").read_text())["paths"]
    templates = {re.compile(re.sub(r"\{\w+\}", "[^/]+", path)): methods for path, methods in operations.items()}

    def is_right(_: Text, match: re.Match[str]) -> bool:
        method, path = match[1].lower(), _without_placeholders(match[2])
        documented = [methods for template, methods in templates.items() if template.fullmatch(path)]
        return any(method in methods for methods in documented) if documented else _resolves(path)

    assert wrong(everything, ENDPOINT, is_right) == []


def test_addresses_exist() -> None:
    assert wrong(project.pages(), ADDRESS, lambda _, match: _resolves(_without_placeholders(match[1]))) == []


def _without_placeholders(path: str) -> str:
    return re.sub(r"\{[^}]*\}|<[^>]*>|\$\w+|\*|…", "00000000-0000-0000-0000-000000000000", path).rstrip("./") or "/"


def _resolves(path: str) -> bool:
    """Return whether a path, or paths below it, have a view."""
    for candidate in (path, f"{path}/", f"{path}/x", f"{path}/x/"):
        try:
            resolve(candidate)
        except Resolver404:
            continue
        return True
    return False


def test_pages_are_short() -> None:
    limits = {Path("docs/architecture.md"): MAX_ARCHITECTURE_LINES, Path("README.md"): MAX_README_LINES}
    lengths = {page.file: len(page.text.splitlines()) for page in project.pages()}
    too_long = {str(file): lines for file, lines in lengths.items() if lines > limits.get(file, MAX_LINES)}
    assert too_long == {}


def test_every_page_can_be_reached() -> None:
    """From the README, following links."""

    def linked(file: Path) -> Iterator[Path]:
        page = _blank_code((ROOT / file).read_text())
        for match in LINK.finditer(page):
            name = (match[1] or match[2]).partition("#")[0]
            target = (ROOT / file.parent / name).resolve()
            if name.endswith(".md") and target.is_file():
                yield target.relative_to(ROOT)

    reached, waiting = set[Path](), [Path("README.md")]
    while waiting:
        file = waiting.pop()
        if file not in reached:
            reached.add(file)
            waiting += linked(file)
    unreached = {page.file for page in project.pages() if page.file.parts[0] == "docs"} - reached
    assert sorted(map(str, unreached)) == []
