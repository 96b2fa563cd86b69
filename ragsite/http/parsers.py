"""Request parsers for JSON and multipart bodies, and the format of responses.

The parsers bound the size and turn every malformed body into a 4xx.
"""

import codecs
import io
from collections.abc import Iterable, Mapping
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation, TooManyFilesSent
from django.http import Http404, UnreadablePostError
from rest_framework import exceptions, parsers, status
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from .uploads import PayloadTooLarge, SpooledUploadHandler, body_too_large_message

# Set for a chunked body, whose CONTENT_LENGTH is then a limit (ragsite.middleware).
CHUNKED_META_KEY = "ragsite.chunked"
_BYTE_ORDER_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # UTF-32's begin like UTF-16's


class BoundedJSONParser(parsers.JSONParser):
    """DRF's JSON parser, with an optional size limit.

    Too deep nesting and a byte-order mark are parse errors (RFC 8259, 8.1). A compressed body is a 415.

    Attributes:
        limit: Bytes of the body. None leaves the limit to ragsite.middleware.
    """

    limit: int | None = None

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        request = (parser_context or {}).get("request")
        headers = request.META if request else {}
        _require_uncompressed(headers)
        is_chunked = CHUNKED_META_KEY in headers
        length = int(headers.get("CONTENT_LENGTH") or 0)
        if self.limit is not None and length > self.limit and not is_chunked:
            raise PayloadTooLarge(f"The body has {length:,} bytes; at most {self.limit:,} are accepted here.")
        body = stream.read() if self.limit is None else stream.read(self.limit + 1)
        if self.limit is not None and len(body) > self.limit:
            raise PayloadTooLarge(f"The body is too long; at most {self.limit:,} bytes are accepted here.")
        if not body and is_chunked:
            return {}  # as for Content-Length: 0
        if body.startswith(_BYTE_ORDER_MARKS):
            raise exceptions.ParseError("it begins with a byte-order mark. Send UTF-8 without one.")
        try:
            return super().parse(io.BytesIO(body), media_type, parser_context)
        except RecursionError:
            raise exceptions.ParseError("it is nested too deeply") from None


class CredentialsParser(BoundedJSONParser):
    """Parses credentials, which are short. The limit protects endpoints that are open to everybody."""

    limit = 64 * 1024


class BoundedMultipartParser(parsers.MultiPartParser):
    """Parses form fields and at most DATA_UPLOAD_MAX_NUMBER_FILES files, which are spooled to disk."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        context: dict[str, Any] = dict(parser_context or {})
        _require_uncompressed(context["request"].META)
        spool = SpooledUploadHandler()
        context["request"].upload_handlers = [spool]
        try:
            with spool.closed_on_failure():
                return super().parse(stream, media_type, context)
        except TooManyFilesSent:
            max_files = settings.DATA_UPLOAD_MAX_NUMBER_FILES
            raise exceptions.ValidationError({"files": f"at most {max_files} files go into one request"}) from None
        except RequestDataTooBig:
            limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
            raise PayloadTooLarge(body_too_large_message(limit, "RAG_MAX_BODY_BYTES, for what is not a file")) from None
        except (SuspiciousOperation, UnreadablePostError, exceptions.ParseError):
            raise exceptions.ValidationError({"body": "the body is not valid multipart/form-data"}) from None


class CompressedBody(exceptions.APIException):
    """415: the body has a content coding (RFC 9110, 15.5.16)."""

    status_code = status.HTTP_415_UNSUPPORTED_MEDIA_TYPE
    default_detail = "The body is compressed. Send it as it is, without the header Content-Encoding."
    default_code = "unsupported_media_type"


def _require_uncompressed(headers: Mapping[str, Any]) -> None:
    """Raise CompressedBody if the request names a content coding, because a small body can expand to a huge one."""
    if headers.get("HTTP_CONTENT_ENCODING", "").strip().lower() not in ("", "identity"):
        raise CompressedBody


class LenientNegotiation(DefaultContentNegotiation):
    """Uses a format that the client accepts, or the view's first one if it accepts none. Never responds with 406.

    RFC 9110, 12.5.1 allows a server to disregard the Accept header.
    """

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> Any:
        choices = list(renderers)
        try:
            return super().select_renderer(request, choices, format_suffix)
        except (exceptions.NotAcceptable, Http404):
            return choices[0], choices[0].media_type
