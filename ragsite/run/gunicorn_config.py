"""gunicorn's configuration that is not on its command line (ragsite.run.web)."""

import contextlib
import gc
import os
from typing import Any

from gunicorn.errors import AppImportError
from gunicorn.http.errors import ParseException

from ragsite.postgres.roles.checks import RoleError, require_safe_roles
from ragsite.postgres.versions.compatibility import OutdatedDatabaseError, require_current_database, wait_until_migrated
from ragsite.run import garbage

workers = int(os.environ.get("WEB_CONCURRENCY") or 2)
# gunicorn trusts every client of a Unix socket, but nginx passes on what its clients send.
secure_scheme_headers: dict[str, str] = {}
forwarder_headers = ""
# nginx has checked these limits, with one line more.
limit_request_line, limit_request_fields, limit_request_field_size = 8190, 1000, 16380
# How many new objects a process collects its garbage after. A search creates thousands, hardly any of them in cycles,
# and with Python's 700 a request spent a tenth of its time looking for these. Large ones: see ragsite.run.garbage.
_NEW_OBJECTS = 20_000


def _database_problem() -> str:
    """Return why the database cannot be used: it is outdated or its roles are too strong. Empty if it can be used."""
    try:
        require_current_database()
        require_safe_roles()
    except (OutdatedDatabaseError, RoleError) as error:
        return str(error)
    return ""


def on_starting(server: object) -> None:
    """Refuse to start with a database that cannot be used, import what requests need, and wait for `migrate`.

    The server accepts no connection meanwhile.
    """
    if message := _database_problem():
        raise RuntimeError(message)  # gunicorn prints the message and stops
    # Needs the settings, which are not loaded when this module is imported.
    from . import warm_up

    warm_up.import_libraries()
    gc.freeze()  # the processes share what is loaded: collecting garbage would write to it, and so copy it
    wait_until_migrated()


def post_worker_init(worker: object) -> None:
    """Check the database again, which may not have answered before, load models, and begin to store measurements."""
    if message := _database_problem():
        raise AppImportError(message)
    from rag.services.operations.measurements import recording

    from . import warm_up

    warm_up.load_models()
    gc.collect()
    gc.freeze()  # what stays until the process ends
    gc.set_threshold(_NEW_OBJECTS)
    recording.store_in_background()


def post_request(worker: object, request: Any, environ: object, response: object) -> None:
    """Read what the application left of the body, and collect garbage if the process has grown."""
    with contextlib.suppress(OSError, ParseException):
        while request.body.read(64 * 1024):  # nginx misses the response if the connection closes before
            pass
    garbage.collect_after_growth()
