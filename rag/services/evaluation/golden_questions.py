"""Golden questions: validation, and import and export as CSV with the columns question, path and passage."""

import csv
import io
from collections.abc import Callable, Iterable

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import transaction
from django.utils.translation import gettext, gettext_noop

from accounts.audit import events
from accounts.audit.events import AuditAction, AuditObject
from orgs.access.caller import Caller
from rag.errors import InvalidRequest
from rag.models import Action, DataSource, GoldenQuestion
from rag.models.content.documents import MAX_PATH_BYTES
from rag.types import MAX_QUESTION_CHARACTERS
from ragsite.http.bodies.csv_cells import protect_cell
from ragsite.postgres.locks import advisory_xact_locks

COLUMNS = ("question", "path", "passage")
Row = tuple[str, str, str]
# Maximum number of golden questions of a source. Each is a search, and all of them run in one night.
MAX_QUESTIONS = 500
MAX_BYTES = 2 * 1024 * 1024
_MAX_ERRORS = 20
_QUERY_PERMISSION_NEEDED = gettext_noop("a passage may only be given by those who may query the source")


def may_see_results(caller: Caller, source: DataSource) -> bool:
    """Return whether the caller may see measured figures, and see and set expected passages.

    Only those who may query the source: a passage is text of a document, and the rank of a document for a question
    shows whether it contains the question's words.
    """
    return DataSource.objects.visible_to(caller, Action.QUERY).filter(pk=source.pk).exists()


def validate(
    source: DataSource, caller: Caller, *, question: str, path: str, passage: str, passage_changed: bool = True
) -> list[str]:
    """Validate a golden question.

    Args:
        source: The data source.
        caller: The user who writes the question.
        question: The question.
        path: The expected document; may be empty.
        passage: The expected text; may be empty.
        passage_changed: Whether the caller changed the passage. An unchanged passage is accepted even if the caller may
            not query the source.

    Returns:
        The errors, as parts of sentences; empty if it is valid.
    """
    errors = []
    if not question:
        errors.append(gettext("question is missing"))
    if not (path or passage):
        errors.append(gettext("path or passage is missing: say what must be found"))
    if len(question) > MAX_QUESTION_CHARACTERS or len(passage) > MAX_QUESTION_CHARACTERS:
        text = gettext("question and passage may have at most {maximum} characters")
        errors.append(text.format(maximum=intcomma(MAX_QUESTION_CHARACTERS)))
    if len(path.encode()) > MAX_PATH_BYTES:
        errors.append(gettext("path may have at most {maximum} bytes").format(maximum=intcomma(MAX_PATH_BYTES)))
    if passage and passage_changed and not may_see_results(caller, source):
        errors.append(gettext(_QUERY_PERMISSION_NEEDED))
    if "\x00" in question + path + passage:
        errors.append(gettext("NUL characters cannot be stored"))
    return errors


def import_csv(source: DataSource, content: bytes, *, by: Caller) -> int:
    """Add the questions of a CSV file that the source does not have yet: all of them, or nothing if one is invalid.

    Args:
        source: The data source.
        content: The file: UTF-8 with a header, separated by commas or semicolons.
        by: The user who imports them.

    Returns:
        The number of added questions.

    Raises:
        InvalidRequest: If a row is invalid. `errors` in its data names the lines.
    """
    rows, errors = _read(content)
    for line, (question, path, passage) in rows:
        row_errors = validate(source, by, question=question, path=path, passage=passage)
        errors += [gettext("Line {line}: {error}.").format(line=line, error=error) for error in row_errors]
    if errors:
        more = (
            [gettext("… and {number} more.").format(number=len(errors) - _MAX_ERRORS)]
            if len(errors) > _MAX_ERRORS
            else []
        )
        raise _invalid(gettext("Nothing was imported."), *errors[:_MAX_ERRORS], *more)
    return add(source, [row for _, row in rows], by=by)


@transaction.atomic
def add(source: DataSource, rows: Iterable[Row], *, by: Caller) -> int:
    """Add those of these valid questions that the source does not have yet, and return their number.

    Raises:
        InvalidRequest: If the source would have too many golden questions.
    """
    advisory_xact_locks([f"golden/{source.pk}"])
    existing = set(GoldenQuestion.objects.filter(source=source).values_list(*COLUMNS))
    new_rows = [row for row in dict.fromkeys(rows) if row not in existing]
    if len(existing) + len(new_rows) > MAX_QUESTIONS:
        raise _invalid(
            gettext("A source may have {maximum} golden questions, and has {count} already.").format(
                maximum=MAX_QUESTIONS, count=len(existing)
            )
        )
    GoldenQuestion.objects.bulk_create(
        GoldenQuestion(source=source, question=question, path=path, passage=passage, created_by=by.authenticated_user)
        for question, path, passage in new_rows
    )
    return len(new_rows)


def export_csv(source: DataSource, caller: Caller) -> str:
    """Return the golden questions as CSV, and record the export in the audit trail.

    Callers who may not query the source get only the questions without a passage.
    """
    events.record(
        AuditAction.EXPORTED,
        AuditObject.GOLDEN_QUESTIONS,
        object_id=source.pk,
        label=source.slug,
        organization=source.organization,
    )
    questions = GoldenQuestion.objects.filter(source=source)
    if not may_see_results(caller, source):
        questions = questions.filter(passage="")
    output = io.StringIO()
    writer = csv.writer(output)
    writer.writerow(COLUMNS)
    writer.writerows([_protect(value) for value in row] for row in questions.values_list(*COLUMNS))
    return output.getvalue()


def _protect(value: str) -> str:
    """Return the value as a cell that no spreadsheet runs: a question may come from any member.

    An apostrophe at the beginning gets another one, so that an import restores every text.
    """
    return f"'{value}" if value.startswith("'") else protect_cell(value)


def _unprotect(value: str) -> str:
    """Remove the apostrophe of `_protect`."""
    return value[1:] if _protect(value[1:]) == value else value


def _read(content: bytes) -> tuple[list[tuple[int, Row]], list[str]]:
    """Return (line number, row) of each row that is not empty, and the errors."""
    if len(content) > MAX_BYTES:
        raise _invalid(
            gettext("The file has {size} bytes; at most {maximum} are read.").format(
                size=intcomma(len(content)), maximum=intcomma(MAX_BYTES)
            )
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise _invalid(
            gettext("Line {line}: it is not UTF-8. Save the file as CSV in UTF-8.").format(line=line)
        ) from None
    header = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=";" if ";" in header and "," not in header else ",")
    try:
        return _read_rows(reader, lambda: reader.line_num)
    except csv.Error as error:
        raise _invalid(
            gettext("Line {line}: it is not CSV ({error}).").format(line=reader.line_num, error=error)
        ) from None


def _read_rows(reader: Iterable[list[str]], line_number: Callable[[], int]) -> tuple[list[tuple[int, Row]], list[str]]:
    """Return (line number, row) of each row that is not empty, and the errors of rows of another length."""
    lines = iter(reader)
    names = [name.strip().lower() for name in next(lines, [])]
    unknown = sorted(set(names) - set(COLUMNS))
    if "question" not in names or unknown or len(set(names)) < len(names):
        raise _invalid(gettext("Line 1: the columns must be question, and path or passage or both."))
    rows: list[tuple[int, Row]] = []
    errors: list[str] = []
    for values in lines:
        if len(rows) + len(errors) > MAX_QUESTIONS:  # before all lines of a long file have an error each
            raise _invalid(
                gettext("Line {line}: a source may have at most {maximum} golden questions.").format(
                    line=line_number(), maximum=MAX_QUESTIONS
                )
            )
        if not any(value.strip() for value in values):
            continue
        if len(values) != len(names):
            errors.append(
                gettext("Line {line}: {values} values under {columns} columns.").format(
                    line=line_number(), values=len(values), columns=len(names)
                )
            )
            continue
        row = dict(zip(names, (_unprotect(value.strip()) for value in values), strict=True))
        rows.append((line_number(), (row["question"], row.get("path", ""), row.get("passage", ""))))
    return rows, errors


def _invalid(message: str, *errors: str) -> InvalidRequest:
    return InvalidRequest(message, field="file", errors=list(errors))
