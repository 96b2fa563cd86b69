"""Golden questions, in and out as CSV: question, path, passage."""

import csv
import io
from collections.abc import Callable, Iterable

from django.db import transaction

from accounts.audit import events
from accounts.audit.events import Act, Kind
from orgs.access.caller import Caller
from rag.errors import InvalidRequest
from rag.models import Action, DataSource, GoldenQuestion
from rag.models.content.documents import MAX_PATH_BYTES
from rag.models.evaluation.golden_questions import MAX_QUESTION_CHARACTERS
from ragsite.postgres.locks import advisory_xact_locks

from .quality import MAX_QUESTIONS

COLUMNS = ("question", "path", "passage")
Row = tuple[str, str, str]
MOST_BYTES = 2 * 1024 * 1024
_MOST_ERRORS = 20
_READERS_ONLY = "a passage can be given only by somebody who may query the source"


def may_see_passages(caller: Caller, source: DataSource) -> bool:
    """A passage is text of a document, and whether it is found tells whether it stands there: for readers alone."""
    return DataSource.objects.visible_to(caller, Action.QUERY).filter(pk=source.pk).exists()


def objections(
    source: DataSource, caller: Caller, *, question: str, path: str, passage: str, wrote_passage: bool = True
) -> list[str]:
    """What speaks against a golden question, in words. wrote_passage: the user, and not somebody before."""
    found = []
    if not question:
        found.append("question is missing")
    if not (path or passage):
        found.append("path or passage is missing: say what must be found")
    if len(question) > MAX_QUESTION_CHARACTERS or len(passage) > MAX_QUESTION_CHARACTERS:
        found.append(f"question and passage have at most {MAX_QUESTION_CHARACTERS:,} characters")
    if len(path.encode()) > MAX_PATH_BYTES:
        found.append(f"path has at most {MAX_PATH_BYTES:,} bytes")
    if passage and wrote_passage and not may_see_passages(caller, source):
        found.append(_READERS_ONLY)
    if "\x00" in question + path + passage:
        found.append("NUL characters cannot be stored")
    return found


def import_csv(source: DataSource, content: bytes, *, by: Caller) -> int:
    """Add the file's rows that are not there yet, all of them or none. Returns how many were added.

    UTF-8, with a header; commas or semicolons. Raises InvalidRequest; `errors` in its data names the lines.
    """
    rows, errors = _read(content)
    for line, (question, path, passage) in rows:
        found = objections(source, by, question=question, path=path, passage=passage)
        errors += [f"Line {line}: {each}." for each in found]
    if errors:
        more = [f"… and {len(errors) - _MOST_ERRORS} more."] if len(errors) > _MOST_ERRORS else []
        raise _refused("Nothing was imported.", *errors[:_MOST_ERRORS], *more)
    with transaction.atomic():
        advisory_xact_locks([f"golden/{source.pk}"])
        there = set(GoldenQuestion.objects.filter(source=source).values_list(*COLUMNS))
        wanted = [each for each in dict.fromkeys(row for _, row in rows) if each not in there]
        if len(there) + len(wanted) > MAX_QUESTIONS:
            raise _refused(f"A source may have {MAX_QUESTIONS} golden questions, and has {len(there)} already.")
        GoldenQuestion.objects.bulk_create(
            GoldenQuestion(
                source=source, question=question, path=path, passage=passage, created_by=by.authenticated_user
            )
            for question, path, passage in wanted
        )
    return len(wanted)


def export_csv(source: DataSource, caller: Caller) -> str:
    """All of them; for somebody who may not query the source, those that hold no passage."""
    events.record(
        Act.EXPORTED,
        Kind.GOLDEN_QUESTIONS,
        object_id=source.pk,
        label=source.slug,
        organization=source.organization,
    )
    rows = GoldenQuestion.objects.filter(source=source)
    if not may_see_passages(caller, source):
        rows = rows.filter(passage="")
    output = io.StringIO()
    writer = csv.writer(output)
    writer.writerow(COLUMNS)
    writer.writerows(rows.values_list(*COLUMNS))
    return output.getvalue()


def _read(content: bytes) -> tuple[list[tuple[int, Row]], list[str]]:
    """(line, row) of every row that is not empty, and errors."""
    if len(content) > MOST_BYTES:
        raise _refused(f"The file has {len(content):,} bytes; at most {MOST_BYTES:,} are read.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise _refused(f"Line {line}: not UTF-8. Save the file as CSV in UTF-8.") from None
    header = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=";" if ";" in header and "," not in header else ",")
    try:
        return _rows(reader, lambda: reader.line_num)
    except csv.Error as error:
        raise _refused(f"Line {reader.line_num}: this is no CSV ({error}).") from None


def _rows(reader: Iterable[list[str]], line: Callable[[], int]) -> tuple[list[tuple[int, Row]], list[str]]:
    lines = iter(reader)
    names = [name.strip().lower() for name in next(lines, [])]
    unknown = sorted(set(names) - set(COLUMNS))
    if "question" not in names or unknown or len(set(names)) < len(names):
        raise _refused("Line 1: the columns must be question, and path or passage or both.")
    rows: list[tuple[int, Row]] = []
    errors: list[str] = []
    for values in lines:
        if len(rows) > MAX_QUESTIONS:
            raise _refused(f"Line {line()}: a source may have at most {MAX_QUESTIONS} golden questions.")
        if not any(each.strip() for each in values):
            continue
        if len(values) != len(names):
            errors.append(f"Line {line()}: {len(values)} values under {len(names)} columns.")
            continue
        given = dict(zip(names, (each.strip() for each in values), strict=True))
        rows.append((line(), (given["question"], given.get("path", ""), given.get("passage", ""))))
    return rows, errors


def _refused(message: str, *errors: str) -> InvalidRequest:
    return InvalidRequest(message, field="file", errors=list(errors))
