"""Requests of one account that only read are counted while they are in progress (rag.providers.limits.read_limiter)."""

import uuid
from collections.abc import Iterator

import pytest

from rag.errors import TooManyReads
from rag.providers.limits import read_limiter

ADA, BOB = uuid.uuid4(), uuid.uuid4()


@pytest.fixture(autouse=True)
def no_reads() -> Iterator[None]:
    yield
    read_limiter._in_progress.clear()


def begin(account: uuid.UUID | None, method: str = "GET") -> dict[str, object]:
    """Begin a request of the account, and return what ends it."""
    meta: dict[str, object] = {"REQUEST_METHOD": method}
    read_limiter.begin(meta, account)
    return meta


def test_an_account_gets_so_many_places_and_others_theirs() -> None:
    reads = [begin(ADA, method) for method in ["GET", "HEAD"] * (read_limiter.MAX_READS // 2)]
    with pytest.raises(TooManyReads):
        begin(ADA)
    begin(BOB)
    read_limiter.end(reads[0])
    read_limiter.end(reads[0])  # ends once
    begin(ADA)
    with pytest.raises(TooManyReads):
        begin(ADA)


def test_changes_and_requests_without_an_account_are_not_counted() -> None:
    for account, method in ((ADA, "POST"), (ADA, "DELETE"), (None, "GET")):
        for _ in range(2 * read_limiter.MAX_READS):
            read_limiter.end(begin(account, method))
            begin(account, method)


def test_a_request_is_counted_once() -> None:
    meta = begin(ADA)
    read_limiter.begin(meta, ADA)
    read_limiter.end(meta)
    assert not read_limiter._in_progress
