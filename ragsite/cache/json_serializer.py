"""The serializer of the cache."""

import json


class JSONSerializer:
    """Replaces pickle, which executes code while it loads: write access to Redis must not mean code execution here."""

    def dumps(self, value: object) -> bytes:
        return json.dumps(value).encode()

    def loads(self, data: bytes) -> object:
        return json.loads(data)
