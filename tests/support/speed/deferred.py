"""Packages that take long to load, and that few files use: each is loaded when a test first uses it.

Every test process collects all files and runs a third of them. In a file that names such a package in an annotation,
`from __future__ import annotations` keeps the annotation from loading it.
"""

import importlib
from typing import TYPE_CHECKING, Any


class Deferred:
    """Stands for a module, and loads it when a public name of it is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):  # pytest asks each name of a file whether it is a test or a fixture
            raise AttributeError(attribute)
        return getattr(importlib.import_module(self._name), attribute)


if TYPE_CHECKING:
    import agents
    import mcp
    import openai
    import qdrant_client
    from mcp.client import auth as mcp_auth
    from mcp.client import streamable_http as mcp_http
    from mcp.shared import auth as mcp_metadata

    from rag.parsing.readers import extracted_markdown
else:
    agents, mcp, openai, qdrant_client = map(Deferred, ("agents", "mcp", "openai", "qdrant_client"))
    mcp_auth, mcp_http = Deferred("mcp.client.auth"), Deferred("mcp.client.streamable_http")
    mcp_metadata = Deferred("mcp.shared.auth")
    extracted_markdown = Deferred("rag.parsing.readers.extracted_markdown")

__all__ = ["agents", "extracted_markdown", "mcp", "mcp_auth", "mcp_http", "mcp_metadata", "openai", "qdrant_client"]
