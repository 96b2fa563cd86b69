"""Renders JSON, of which parts may have been encoded before."""

from dataclasses import dataclass
from typing import Any

from rest_framework import renderers


@dataclass(frozen=True, slots=True)
class EncodedJson:
    """The value of a field of a response, as JSON text on one line."""

    text: str


def render_line(data: object) -> bytes:
    """Return JSON on one line, also for clients that divide lines at every line break of Unicode (U+0085)."""
    return JSONRenderer().render(data).replace(b"\xc2\x85", b"\\u0085")


class JSONRenderer(renderers.JSONRenderer):
    """Writes fields of the outermost object that are encoded already as they are, after the other fields."""

    def render(self, data: Any, *arguments: Any, **options: Any) -> bytes:
        encoded = {}
        if isinstance(data, dict):
            encoded = {name: value for name, value in data.items() if isinstance(value, EncodedJson)}
        if not encoded:
            return bytes(super().render(data, *arguments, **options))
        others = {name: value for name, value in data.items() if name not in encoded}
        start = bytes(super().render(others, *arguments, **options)).removesuffix(b"}")
        fields = [b'"%s":%s' % (name.encode(), value.text.encode()) for name, value in encoded.items()]
        return start + (b"," if others else b"") + b",".join(fields) + b"}"
