"""Logs requests that Django refuses, such as those for another host name, as what they are: no errors of this side."""

import logging


class AsWarning(logging.Filter):
    """Makes Django's errors of refused requests warnings, without the traceback: anybody can send such requests."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno > logging.WARNING:
            record.levelno, record.levelname = logging.WARNING, "WARNING"
            record.exc_info = record.exc_text = None
        return True
