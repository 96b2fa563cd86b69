"""What the documentation checks read: pages, comments and docstrings, and the names that exist in the project."""

import ast
import functools
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
APPS = ("accounts", "orgs", "rag", "ragsite")
PACKAGES = (*APPS, "tests", "benchmarks")


@dataclass(frozen=True, slots=True)
class Text:
    """A page, a comment or a docstring, and where it is.

    Attributes:
        file: Path from the project's root.
        line: Number of its first line, from 1.
        text: Without comment signs.
    """

    file: Path
    line: int
    text: str

    def at(self, offset: int) -> str:
        """The place of a character, as `file:line`."""
        return f"{self.file}:{self.line + self.text.count(chr(10), 0, offset)}"


@functools.cache
def files() -> tuple[Path, ...]:
    """The project's files, with those that are not committed yet, as paths from its root."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return tuple(Path(name) for name in sorted(set(names)) if (ROOT / name).is_file())


@functools.cache
def pages() -> tuple[Text, ...]:
    """Every Markdown page, without the documents of evaluation sets, which are not about this project."""
    return tuple(
        Text(file, 1, (ROOT / file).read_text())
        for file in files()
        if file.suffix == ".md" and not (file.parts[0] == "benchmarks" and "documents" in file.parts)
    )


def python_files(*packages: str) -> Iterator[Path]:
    """The Python modules of these top-level packages."""
    for file in files():
        if file.suffix == ".py" and file.parts[0] in packages:
            yield file


@functools.cache
def comments() -> tuple[Text, ...]:
    """Every comment and docstring of the Python code."""
    return tuple(text for file in python_files(*PACKAGES) for text in (*_docstrings(file), *_comments(file)))


@functools.cache
def strings() -> tuple[Text, ...]:
    """Every other string of the product's code: messages, help texts, log events."""
    found = []
    for file in python_files(*APPS):
        tree = _tree(file)
        documented = {id(node) for node in _docstring_nodes(tree)}
        found += [
            Text(file, node.lineno, node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented
        ]
    return tuple(found)


@functools.cache
def _tree(file: Path) -> ast.Module:
    return ast.parse((ROOT / file).read_text())


def _docstring_nodes(tree: ast.Module) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            value = first.value if isinstance(first, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value


def _docstrings(file: Path) -> Iterator[Text]:
    for node in _docstring_nodes(_tree(file)):
        yield Text(file, node.lineno, str(node.value))


# A string, so that a sign in it is not taken for one of a comment, or a comment. Unlike tokenize it takes no seconds.
_STRING_OR_COMMENT = re.compile(
    r""""{3}(?:[^"\\]|\\.|"(?!""))*"{3}|\'{3}(?:[^'\\]|\\.|'(?!''))*\'{3}"""
    r"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\#(?P<comment>[^\n]*)""",
    re.DOTALL,
)


def _comments(file: Path) -> Iterator[Text]:
    """Comments on consecutive lines are one text."""
    block: list[str] = []
    start = previous = offset = 0
    line = 1
    text = (ROOT / file).read_text()
    for match in _STRING_OR_COMMENT.finditer(text):
        if match["comment"] is None:
            continue
        line += text.count("\n", offset, match.start())
        offset = match.start()
        if block and line != previous + 1:
            yield Text(file, start, "\n".join(block))
            block = []
        start = start if block else line
        block.append(match["comment"].lstrip("#"))
        previous = line
    if block:
        yield Text(file, start, "\n".join(block))


@functools.cache
def headings(file: Path) -> dict[str, str]:
    """Return the headings of a page by their anchors, which are built as GitHub builds them."""
    anchors: dict[str, str] = {}
    text = re.sub(r"^```.*?^```", "", (ROOT / file).read_text(), flags=re.DOTALL | re.MULTILINE)
    for title in re.findall(r"^#{1,6} +(.+?) *$", text, re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", "")
        anchor = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        number = sum(1 for known in anchors if re.fullmatch(rf"{re.escape(anchor)}(-\d+)?", known))
        anchors[f"{anchor}-{number}" if number else anchor] = plain
    return anchors


@functools.cache
def names_in(module: str) -> frozenset[str] | None:
    """The names that a module or package defines or imports at its top level; None if there is no such module."""
    path = ROOT / module.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not file.is_file():
        return frozenset(_submodules(path)) if path.is_dir() else None
    names = set(_submodules(path)) if path.is_dir() else set[str]()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return frozenset(names)


def _submodules(folder: Path) -> Iterator[str]:
    yield from (entry.stem for entry in folder.iterdir() if entry.suffix == ".py" or entry.is_dir())


# How Python, the shell and make read a variable of the environment.
_READ = re.compile(
    r"""(?:env\.\w+|environ\.(?:get|setdefault|pop)|getenv|_ORIGINAL_ENVIRONMENT\.get)\(\s*["']([A-Z][A-Z0-9_]+)["']"""
    r"""|environ\[["']([A-Z][A-Z0-9_]+)["']\]|["']([A-Z]+_API_KEY)["']:"""
)
_SHELL = re.compile(r"\$[{(]{0,2}([A-Z][A-Z0-9_]+)|^([A-Z][A-Z0-9_]+) *[?:]?=", re.MULTILINE)


@functools.cache
def deployment_settings() -> frozenset[str]:
    """The variables that the settings and the launcher read from the environment."""
    found: set[str] = set()
    for file in python_files("ragsite"):
        if file.parts[1] in ("settings", "run") and file.name != "test.py":
            found |= _variables(file)
    return frozenset(found)


@functools.cache
def variables() -> frozenset[str]:
    """Every variable that anything in the project reads from the environment."""
    found = set(deployment_settings())
    for file in files():
        if file.suffix == ".py":
            found |= _variables(file)
        elif file.name == "Makefile" or file.parts[0] in ("scripts", ".ci"):
            found |= {name for pair in _SHELL.findall((ROOT / file).read_text()) for name in pair if name}
    return frozenset(found)


def _variables(file: Path) -> set[str]:
    return {name for groups in _READ.findall((ROOT / file).read_text()) for name in groups if name}


@functools.cache
def make_targets() -> frozenset[str]:
    return frozenset(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@functools.cache
def code_words() -> frozenset[str]:
    """Every word in capital letters that stands anywhere in the code."""
    text = "\n".join((ROOT / file).read_text(errors="ignore") for file in files() if file.suffix != ".md")
    return frozenset(re.findall(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+", text))
