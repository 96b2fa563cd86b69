"""Request parsers for JSON and multipart bodies. They bound the size and turn every malformed body into a 4xx."""

from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation, TooManyFilesSent
from django.http import UnreadablePostError
from rest_framework import exceptions, parsers

from .uploads import PayloadTooLarge, SpooledUploadHandler, body_too_large_message


class BoundedJSONParser(parsers.JSONParser):
    """DRF's JSON parser, with an optional size limit. Too deep nesting is a parse error.

    Attributes:
        limit: Bytes of the body. None leaves the limit to ragsite.middleware.
    """

    limit: int | None = None

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        request = (parser_context or {}).get("request")
        length = int(request.META.get("CONTENT_LENGTH") or 0) if request else 0
        if self.limit is not None and length > self.limit:
            raise PayloadTooLarge(f"The body has {length:,} bytes; at most {self.limit:,} are accepted here.")
        try:
            return super().parse(stream, media_type, parser_context)
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
