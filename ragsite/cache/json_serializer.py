"""The serializer of the cache."""

import json
from typing import Any


class JSONSerializer:
    """Replaces pickle, which executes code while it loads: write access to Redis must not mean code execution here."""

    def dumps(self, value: object) -> bytes:
        return json.dumps(value).encode()

    def loads(self, data: bytes) -> Any:
        return json.loads(data)
