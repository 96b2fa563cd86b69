"""Validates and stores sync connections: the location from which a data source is synced, and the credentials."""

from urllib.parse import urlsplit

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from accounts.models import User
from rag.errors import InvalidRequest
from rag.models import SyncConnection, SyncKind, SyncRun
from rag.providers import provider_factory
from rag.providers.connectors import folder_walk, local_folder
from rag.providers.limits.long_request_limiter import LONG_REQUESTS
from ragsite.http import outbound_connections
from ragsite.postgres import encryption

from . import runs, schedule

# What says where documents are fetched. A run never continues at another location: its items are those of its own.
_LOCATION_FIELDS = ("kind", "location", "endpoint", "region")
LOCATION_CHANGED = gettext_noop("The location was changed. The next sync starts from the beginning.")


def check(connection: SyncConnection) -> None:
    """Check a connection when it is entered. Folders and addresses are checked again each time that they are used.

    Raises:
        InvalidRequest: If a field has a value that the kind of location cannot have.
        TooManyLongRequests: If the account has too many long requests in progress.
    """
    _CHECKS[SyncKind(connection.kind)](connection)


@transaction.atomic
def save(connection: SyncConnection, *, secret: str, by: User) -> None:
    """Store a checked connection, which acts for this user from now on. With a schedule, a sync is due at once.

    Args:
        connection: The connection, with its new values.
        secret: The new secret key; empty to keep the stored one.
        by: Who saves it.
    """
    connection.acts_for = by
    connection.due_at = schedule.first_due_at(connection)
    if secret:
        connection.secret = encryption.encrypt(secret, encryption.Purpose.SYNC)
    if connection._state.adding:
        connection.save(force_insert=True)
    else:
        _end_runs_if_moved(connection)
        kept = {"created_at"} if secret else {"created_at", "secret"}
        names = {field.name for field in connection._meta.concrete_fields if not field.primary_key}
        connection.save(update_fields=names - kept)


def check_secret(connection: SyncConnection, new: SyncConnection, *, secret: str) -> None:
    """Check that a stored secret is not used for what its owner did not enter it for.

    Args:
        connection: The stored connection.
        new: Its new values.
        secret: The new secret key; empty to keep the stored one.

    Raises:
        InvalidRequest: If the secret must be entered again.
    """
    is_moved = _credentials_scope(connection) != _credentials_scope(new)
    if is_moved and not secret and new.access_key:
        raise InvalidRequest(_("Enter the secret key again for this bucket."), field="new_secret")


def _credentials_scope(connection: SyncConnection) -> tuple[str, str, str, str]:
    return connection.kind, connection.location.partition("/")[0], connection.endpoint, connection.access_key


def _end_runs_if_moved(connection: SyncConnection) -> None:
    """End the runs that could continue, if the new values name another location."""
    stored = SyncConnection.objects.select_for_update(no_key=True, of=("self",)).get(pk=connection.pk)
    if all(getattr(stored, name) == getattr(connection, name) for name in _LOCATION_FIELDS):
        return
    for run in SyncRun.objects.filter(connection=stored, state__in=SyncRun.OPEN_STATES):
        runs.end(run, SyncRun.State.FINISHED, LOCATION_CHANGED)
    latest = SyncRun.objects.filter(connection=stored).first()
    if latest and latest.state in (SyncRun.State.STOPPED, SyncRun.State.FAILED):
        runs.update(latest, state=SyncRun.State.FINISHED, error=LOCATION_CHANGED)


def _check_folder(connection: SyncConnection) -> None:
    allowed = provider_factory.allowed_folders(connection.source.organization.slug)
    path = local_folder.find_folder(connection.location, allowed)
    if path is None or not path.is_dir():
        message = _("There is no such folder, or the operator does not allow it (RAG_SYNC_FOLDERS).")
        raise InvalidRequest(message, field="location")


def _check_s3(connection: SyncConnection) -> None:
    bucket = connection.location.partition("/")[0]
    if not bucket.strip(".") or not all(character.isalnum() or character in ".-_" for character in bucket):
        raise InvalidRequest(_("Enter the bucket, and a prefix if you like: bucket/folder/"), field="location")
    if connection.endpoint:
        _check_address(connection, connection.endpoint, field="endpoint", needs_https=True)
    if not all(character.isalnum() or character == "-" for character in connection.region):
        raise InvalidRequest(_("Enter a region such as eu-central-1."), field="region")


def _check_file_system(connection: SyncConnection) -> None:
    name, _separator, path = connection.location.partition("/")
    if name not in provider_factory.allowed_file_systems(connection.source.organization.slug):
        message = _("There is no such file system, or the operator does not allow it (RAG_SYNC_FILE_SYSTEMS).")
        raise InvalidRequest(message, field="location")
    if not folder_walk.is_below(part for part in path.split("/") if part):
        raise InvalidRequest(_("Enter the name of the file system and a folder in it: name/folder"), field="location")


def _check_website(connection: SyncConnection) -> None:
    _check_address(connection, connection.location, field="location", needs_https=False)


def _check_address(connection: SyncConnection, url: str, *, field: str, needs_https: bool) -> None:
    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname) and parts.username is None and not parts.fragment and (parts.port or 1) > 0
    except ValueError:
        has_host = False
    if not has_host or parts.scheme not in ("http", "https"):
        raise InvalidRequest(_("Enter an address such as https://example.com, without a user name."), field=field)
    organization_slug = connection.source.organization.slug
    private_hosts = outbound_connections.allowed_hosts(outbound_connections.SYNC_HOSTS, organization_slug)
    if needs_https and parts.scheme != "https" and parts.hostname not in private_hosts:
        message = _("The address must begin with https://, or its host must be in RAG_SYNC_PRIVATE_HOSTS.")
        raise InvalidRequest(message, field=field)
    try:
        with LONG_REQUESTS.admit():  # the servers that know the name may be slow
            outbound_connections.check_allowed(
                url, setting=outbound_connections.SYNC_HOSTS, organization_slug=organization_slug
            )
    except outbound_connections.ForbiddenAddress as error:
        raise InvalidRequest(str(error), field=field) from None


_CHECKS = {
    SyncKind.FOLDER: _check_folder,
    SyncKind.S3: _check_s3,
    SyncKind.FILE_SYSTEM: _check_file_system,
    SyncKind.WEBSITE: _check_website,
}
# The kinds of places that people may choose.
KINDS = tuple(_CHECKS)
