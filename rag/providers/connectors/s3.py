"""A bucket of an S3-compatible store, read with two requests of its API: ListObjectsV2 and GetObject.

The requests are signed with botocore and sent with the guarded client, because the SDK connects to any address.
"""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, unquote, unquote_plus, urlencode, urlsplit

import httpx2
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from lxml import etree

from rag.providers.http import bounded_responses

from . import small_xml
from .base import ItemFailed, ItemGone, ListedItem, ListingFailed, OpenedItem, Page
from .folder_walk import is_storable
from .http_client import READ_BYTES, ConnectorClient, describe

DEFAULT_REGION = "us-east-1"
_MAX_KEYS = 1_000
_MAX_ELEMENTS = 50 * _MAX_KEYS
_NAMESPACE = "{http://s3.amazonaws.com/doc/2006-03-01/}"


class S3Connector:
    """Reads the objects of a bucket whose keys begin with a prefix. A path is the key without that prefix."""

    def __init__(
        self,
        *,
        bucket: str,
        prefix: str,
        endpoint: str,
        region: str,
        access_key: str,
        secret: str,
        organization_slug: str,
    ) -> None:
        """Read a bucket for the organisation with this slug, which RAG_SYNC_PRIVATE_HOSTS may allow private hosts."""
        self._bucket, self._prefix, self._organization_slug = bucket, prefix, organization_slug
        self._region = region or DEFAULT_REGION
        self._endpoint = (endpoint or f"https://s3.{self._region}.amazonaws.com").rstrip("/")
        self._signer = S3SigV4Auth(Credentials(access_key, secret), "s3", self._region) if access_key else None

    def list_pages(self, cursor: Any) -> Iterator[Page]:
        """List all objects by their keys. The cursor has the last key, encoded: it may contain NUL.

        Raises:
            ListingFailed: If the store does not answer, or its listing does not go on.
        """
        # Earlier versions stored the key itself.
        after = unquote(cursor["after"]) if isinstance(cursor, dict) else cursor or ""
        while True:
            listing = self._list(after)
            keys = [unquote_plus(_text(entry, "Key")) for entry in listing.iter(f"{_NAMESPACE}Contents")]
            versions = [
                f"{_text(entry, 'ETag')}-{_text(entry, 'Size')}"[:300]
                for entry in listing.iter(f"{_NAMESPACE}Contents")
            ]
            items = [
                ListedItem(path, version)
                for key, version in zip(keys, versions, strict=True)
                if is_storable(path := key.removeprefix(self._prefix)) and not key.endswith("/") and not _leads_up(key)
            ]
            previous, after = after, keys[-1] if keys else after
            is_last = _text(listing, "IsTruncated") != "true"
            if not (keys or is_last):
                raise ListingFailed("The store's listing has an empty page that is not the last.")
            if not (is_last or after > previous):
                raise ListingFailed("The store's listing does not go on.")
            yield Page(items, {"after": quote(after)}, is_last, len(keys) - len(items))
            if is_last:
                return

    @contextlib.contextmanager
    def open(self, path: str, *, validators: Mapping[str, str]) -> Iterator[OpenedItem]:
        """Request an object.

        Raises:
            ItemGone: If it does not exist any more.
            ItemFailed: If the store does not send it.
        """
        key = self._prefix + path
        if _leads_up(key):
            raise ItemGone
        try:
            with self._request(f"/{quote(self._bucket)}/{quote(key)}") as response:
                if response.status_code == 404:
                    raise ItemGone
                if response.status_code != 200:
                    raise ItemFailed(
                        f"The store answered {response.status_code}.", is_location_down=response.status_code >= 500
                    )
                name = key.rsplit("/", 1)[-1]
                content_type = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
                # What stores declare of objects without a type.
                is_declared = content_type not in ("application/octet-stream", "binary/octet-stream")
                parts = _translated_errors(response.iter_raw(READ_BYTES))
                yield OpenedItem(parts, name, f"s3://{self._bucket}/{key}", content_type[:200] if is_declared else "")
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ItemFailed(describe(error), code="UNREACHABLE", is_location_down=True) from error

    def _list(self, after: str) -> etree._Element:
        query = {"encoding-type": "url", "list-type": "2", "max-keys": str(_MAX_KEYS), "prefix": self._prefix}
        if after:
            query["start-after"] = after
        try:
            with self._request(
                f"/{quote(self._bucket)}?{urlencode(sorted(query.items()), quote_via=quote)}"
            ) as response:
                if response.status_code != 200:
                    raise ListingFailed(_explain(response.status_code))
                content = bounded_responses.read_all(response.iter_raw(READ_BYTES))
        except (httpx2.HTTPError, httpx2.InvalidURL, bounded_responses.ResponseTooLarge) as error:
            raise ListingFailed(describe(error)) from error
        try:
            small_xml.require_small(content, max_elements=_MAX_ELEMENTS)
            parser = etree.XMLParser(encoding=small_xml.ENCODING, resolve_entities=False, no_network=True)
            listing = etree.fromstring(content, parser)
        except etree.XMLSyntaxError as error:
            raise ListingFailed("The store's answer is not a listing.") from error
        if listing.tag != f"{_NAMESPACE}ListBucketResult":
            raise ListingFailed("The store's answer is not a listing.")
        return listing

    @contextlib.contextmanager
    def _request(self, target: str) -> Iterator[httpx2.Response]:
        url = self._endpoint + target
        # Without compression, so that the content has the length that was listed.
        headers = {"Accept-Encoding": "identity", "Host": urlsplit(url).netloc}
        request = AWSRequest("GET", url, headers=headers)
        if self._signer:
            self._signer.add_auth(request)
        client = ConnectorClient(organization_slug=self._organization_slug)
        with client, client.stream("GET", url, headers=dict(request.headers)) as response:
            yield response


def _translated_errors(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the parts, and raise ItemFailed if the connection breaks."""
    try:
        yield from parts
    except httpx2.HTTPError as error:
        raise ItemFailed(describe(error), code="UNREACHABLE", is_location_down=True) from error


def _leads_up(key: str) -> bool:
    """Return whether clients and servers would shorten the key's address, so that it may name another bucket."""
    return not {".", ".."}.isdisjoint(key.split("/"))


def _text(element: etree._Element, name: str) -> str:
    return str(element.findtext(f"{_NAMESPACE}{name}") or "")


def _explain(status: int) -> str:
    if status in (401, 403):
        return "The store refused the credentials."
    if 300 <= status < 400:
        return "The bucket is in another region."
    return "There is no such bucket." if status == 404 else f"The store answered {status}."
