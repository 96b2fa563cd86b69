"""Keeps the errors of the log for the page "Operations", without their messages, which may quote a text."""

import datetime
import logging
import sys

import structlog

from ragsite.observability import measurement_buffer
from ragsite.observability.measurement_buffer import Error


class Handler(logging.Handler):
    """Records what is logged as an error: a logging handler of the root logger."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)

    def emit(self, record: logging.LogRecord) -> None:
        """Record what was logged, without the text of libraries."""
        entry: dict[str, object] = record.msg if isinstance(record.msg, dict) else {}
        event = str(entry.get("event") or record.name)
        if isinstance(status := entry.get("code"), int):  # of a request
            event += f" {status}"
        context = structlog.contextvars.get_contextvars()
        measurement_buffer.record_error(
            Error(
                at=datetime.datetime.fromtimestamp(record.created, datetime.UTC),
                # Our own events are constants. The messages of libraries are sentences, which may hold anything.
                event=event[:200],
                exception=_class_name(record, entry)[:200],
                request_id=str(entry.get("request_id") or context.get("request_id") or "")[:100],
                task=str(entry.get("task") or context.get("task") or "")[:200],
            )
        )


def _class_name(record: logging.LogRecord, entry: dict[str, object]) -> str:
    """Return the name of the class of the logged exception; empty without one."""
    info = entry.get("exc_info") or record.exc_info
    if info is True:  # "the exception that is being handled"
        info = sys.exc_info()
    exception = info[1] if isinstance(info, tuple) else info
    return type(exception).__name__ if isinstance(exception, BaseException) else ""
