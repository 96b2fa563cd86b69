"""The type of JSON whose fields are checked where they are read."""

from typing import Any, TypeAlias

# An object of JSON that others wrote, or that others define: a token's claims, a JSON Schema.
JsonObject: TypeAlias = dict[str, Any]
