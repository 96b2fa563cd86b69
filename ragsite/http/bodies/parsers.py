"""Request parsers for JSON and multipart bodies, and the format of responses.

The parsers bound the size and turn every malformed body into a 4xx.
"""

import codecs
import contextlib
import io
import re
from collections.abc import Iterable, Mapping
from typing import IO, Any, cast

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation, TooManyFilesSent
from django.http import Http404, UnreadablePostError
from django.utils.http import parse_header_parameters
from rest_framework import exceptions, parsers, status
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from ragsite.http.fair_slots import FairSlots

from .upload_handler import CountedForm, PayloadTooLarge, SpooledUploadHandler, body_too_large_message

# Set for a chunked body, whose CONTENT_LENGTH is then a limit (ragsite.middleware).
CHUNKED_META_KEY = "ragsite.chunked"
# An empty list or object needs two or three bytes of a body, and a hundred of memory.
MAX_JSON_VALUES = 1_000_000
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
# A body of more bytes needs up to ten times its size of memory, so only a few of them are in progress at a time.
_LARGE_BODY_BYTES = 1024 * 1024
_LARGE_BODY_META_KEY = "ragsite.large_body"
# A field of a form that is not a file.
MAX_FIELD_BYTES = 64 * 1024
_MAX_SHOWN_NAME = 100
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
        body = stream.read(_LARGE_BODY_BYTES + 1) if self.limit is None else stream.read(self.limit + 1)
        if self.limit is None and len(body) > _LARGE_BODY_BYTES:
            if request is not None:
                _hold_slot(request)
            body += stream.read()
        if self.limit is not None and len(body) > self.limit:
            raise PayloadTooLarge(f"The body is too long; at most {self.limit:,} bytes are accepted here.")
        if not body and is_chunked:
            return {}  # as for Content-Length: 0
        if body.startswith(_BYTE_ORDER_MARKS):
            raise exceptions.ParseError("it begins with a byte-order mark. Send UTF-8 without one.")
        require_few_values(body)
        try:
            return super().parse(io.BytesIO(body), media_type, parser_context)
        except RecursionError:
            raise exceptions.ParseError("it is nested too deeply") from None
        except exceptions.ParseError as error:
            raise exceptions.ParseError(_describe(error)) from None


def _describe(error: exceptions.ParseError) -> str:
    """Return what is wrong with the body, without the words of DRF and Python, which are not for clients."""
    if isinstance(error.__context__, UnicodeDecodeError):
        return f"its byte {error.__context__.start + 1:,} is not UTF-8. Encode the body as UTF-8."
    if "set_int_max_str_digits" in str(error):
        return "it has a number of too many digits"
    return str(error.detail).removeprefix("JSON parse error - ")


class TooManyLargeBodies(exceptions.APIException):
    """503: no slot became free in time. `wait`: seconds after which the client may try again (Retry-After)."""

    # No subclass of Unavailable: REST framework, which error_envelope imports, imports this module.
    status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    wait = 2
    default_detail = "Too many large requests are in progress. Try again in a few seconds, or send smaller ones."


# By account. A client may send several at a time: most take less than a second, and the others wait for them.
LARGE_BODIES = FairSlots(lambda: 2, TooManyLargeBodies, max_wait_seconds=10.0, max_of_caller_per_slot=4, max_per_slot=6)


def _hold_slot(request: Request) -> None:
    """Wait for a slot, which the request holds until its response: what was parsed is in memory until then."""
    slot = contextlib.ExitStack()
    slot.enter_context(LARGE_BODIES.slot(request.user.pk))
    request.META[_LARGE_BODY_META_KEY] = slot


def release_slot(headers: dict[str, object]) -> None:
    """Release the slot of a request, if it has one. The middleware calls this when there is a response."""
    slot = headers.pop(_LARGE_BODY_META_KEY, None)
    if isinstance(slot, contextlib.ExitStack):
        slot.close()


def require_few_values(body: bytes) -> None:
    """Raise PayloadTooLarge if the JSON has more than MAX_JSON_VALUES values: before it is parsed, in linear time."""
    if _count_values(body) > MAX_JSON_VALUES and _count_values(_STRING.sub(b"", body)) > MAX_JSON_VALUES:
        raise PayloadTooLarge(f"The body has more than {MAX_JSON_VALUES:,} values. Send fewer at a time.")


def _count_values(json_text: bytes) -> int:
    """Return an upper bound of the number of values: commas and brackets in texts are counted too."""
    return sum(map(json_text.count, (b",", b"[", b"{")))


class CredentialsParser(BoundedJSONParser):
    """Parses credentials, which are short. The limit protects endpoints that are open to everybody."""

    limit = 64 * 1024


class BoundedMultipartParser(parsers.MultiPartParser):
    """Parses form fields and at most DATA_UPLOAD_MAX_NUMBER_FILES files, which are spooled to disk.

    Attributes:
        long_fields: Fields that may be longer than MAX_FIELD_BYTES. All fields together are as long as a body may be.
    """

    long_fields: frozenset[str] = frozenset()

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        context: dict[str, Any] = dict(parser_context or {})
        _require_uncompressed(context["request"].META)
        spool = SpooledUploadHandler()
        context["request"].upload_handlers = [spool]
        counted = CountedForm(stream, parse_header_parameters(media_type or "")[1].get("boundary", ""))
        try:
            with spool.closed_on_failure():
                form = super().parse(cast("IO[Any]", counted), media_type, context)
                _require_all_parts(counted, form)
                self._check_fields(context["request"], form.data.lists())
                return form
        except TooManyFilesSent:
            max_files = settings.DATA_UPLOAD_MAX_NUMBER_FILES
            raise exceptions.ValidationError({"files": f"at most {max_files} files go into one request"}) from None
        except RequestDataTooBig:
            limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
            raise PayloadTooLarge(body_too_large_message(limit, "RAG_MAX_BODY_BYTES, for what is not a file")) from None
        except (SuspiciousOperation, UnreadablePostError, exceptions.ParseError):
            raise exceptions.ValidationError({"body": "the body is not valid multipart/form-data"}) from None

    def _check_fields(self, request: Request, fields: Iterable[tuple[str, list[str]]]) -> None:
        """Raise an error for a field that is too long, before anything looks at its characters."""
        for name, values in fields:
            size = max(len(value.encode()) for value in values)
            if name in self.long_fields:
                if size > _LARGE_BODY_BYTES:
                    _hold_slot(request)
            elif size > MAX_FIELD_BYTES:
                name = name[:_MAX_SHOWN_NAME]
                message = f"{name} has {size:,} bytes; a field that is not a file may have at most {MAX_FIELD_BYTES:,}"
                raise exceptions.ValidationError({name: message})


def _require_all_parts(counted: CountedForm, form: "parsers.DataAndFiles[Any, Any]") -> None:
    """Raise an error for a form that was cut off, or if a part was left out: it may have been a file."""
    if not counted.is_complete:
        raise exceptions.ParseError
    if sum(len(values) for _, values in (*form.data.lists(), *form.files.lists())) < counted.part_count:
        message = "a part of the form has no name, or a file has none that is a file name in UTF-8"
        raise exceptions.ValidationError({"files": message})


class CompressedBody(exceptions.APIException):
    """415: the body has a content coding (RFC 9110, 15.5.16)."""

    status_code = status.HTTP_415_UNSUPPORTED_MEDIA_TYPE
    default_detail = "The body is compressed. Send it as it is, without the header Content-Encoding."
    default_code = "unsupported_media_type"


def _require_uncompressed(headers: Mapping[str, object]) -> None:
    """Raise CompressedBody if the request names a content coding, because a small body can expand to a huge one."""
    if str(headers.get("HTTP_CONTENT_ENCODING", "")).strip().lower() not in ("", "identity"):
        raise CompressedBody


class LenientNegotiation(DefaultContentNegotiation):
    """Uses a format that the client accepts, or the view's first one if it accepts none. Never responds with 406.

    RFC 9110, 12.5.1 allows a server to disregard the Accept header.
    """

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        choices = list(renderers)
        try:
            chosen: tuple[BaseRenderer, str] = super().select_renderer(request, choices, format_suffix)
            return chosen
        except (exceptions.NotAcceptable, Http404):
            return choices[0], choices[0].media_type
