"""The ids of the sources that a search reads, for contracts that list them."""

import threading
import uuid
from collections import OrderedDict
from collections.abc import Sequence

from rag.types import MemberGrants, SearchScope, SourceIds
from ragsite.postgres.base import read_rows

from .granted_scopes import GRANTS, grant_values

_READ = (
    "SELECT version, ids FROM "
    f"rag_list_sources(ROW(NULL, %s::uuid[], NULL, NULL, %s::uuid[], {GRANTS}, NULL)::rag_scope, %s)"
)
# Shorter arrays are read each time; of the longer ones, a process keeps this many bytes.
_MIN_KEPT, _MAX_KEPT = 20_000, 16 * 2**20

# The listed sources of scopes, the organisations of their public ones, and who has the grants of others.
_Key = tuple[tuple[uuid.UUID, ...], tuple[uuid.UUID, ...], MemberGrants | None]


class KeptLists:
    """The latest lists, with the versions that the database gave them. One is used only if its version is the current.

    So nothing is decided by what is kept here: each time, the database reads what the caller may query.
    """

    def __init__(self) -> None:
        self._lists: OrderedDict[_Key, tuple[str, SourceIds]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: _Key) -> tuple[str | None, SourceIds]:
        """Return a version and its list; None for the version if there is none."""
        with self._lock:
            if key not in self._lists:
                return None, SourceIds()
            self._lists.move_to_end(key)
            return self._lists[key]

    def add(self, key: _Key, version: str, ids: SourceIds) -> None:
        with self._lock:
            self._remove(key)
            self._lists[key] = version, ids
            self._bytes += len(ids.json)
            while self._bytes > _MAX_KEPT:
                self._remove(next(iter(self._lists)))

    def _remove(self, key: _Key) -> None:
        if key in self._lists:
            self._bytes -= len(self._lists.pop(key)[1].json)


_kept = KeptLists()


def list_ids(scopes: Sequence[SearchScope], *, with_unlisted: bool) -> SourceIds:
    """Return the ids of the sources of scopes.

    Args:
        scopes: The scopes of one search.
        with_unlisted: Also those that the scopes do not list, which are read from the database.
    """
    listed = tuple(sorted({source_id for scope in scopes for source_id in scope.source_ids}))
    public_in = tuple(sorted({key for scope in scopes for key in scope.public_in}))
    grants = next((scope.grants for scope in scopes if scope.grants), None)
    if not with_unlisted or not (public_in or grants):
        return SourceIds.of(listed)
    key = listed, public_in, grants
    kept_version, kept = _kept.get(key)
    ((version, text),) = read_rows(_READ, [list(public_in), list(listed), *grant_values(grants), kept_version])
    if text is None:
        return kept
    ids = SourceIds(text)
    if version and len(text) >= _MIN_KEPT:
        _kept.add(key, version, ids)
    return ids
