"""Packages that take long to load, and that few files use: each is loaded when a test first uses it.

Every test process collects all files and runs a quarter of them. In a file that names such a package in an annotation,
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
    import boto3
    import mcp
    import openai
    import qdrant_client
    from mcp.client import auth as mcp_auth
    from mcp.client import streamable_http as mcp_http
    from mcp.shared import auth as mcp_metadata
    from moto import server as moto_server

    from rag.parsing.readers import extracted_markdown
    from rag.parsing.readers.messages import mail
    from rag.parsing.readers.pdf import read_pdf
else:
    agents, boto3, mcp, openai = map(Deferred, ("agents", "boto3", "mcp", "openai"))
    moto_server, qdrant_client = Deferred("moto.server"), Deferred("qdrant_client")
    mcp_auth, mcp_http = Deferred("mcp.client.auth"), Deferred("mcp.client.streamable_http")
    mcp_metadata = Deferred("mcp.shared.auth")
    extracted_markdown = Deferred("rag.parsing.readers.extracted_markdown")
    mail = Deferred("rag.parsing.readers.messages.mail")
    read_pdf = Deferred("rag.parsing.readers.pdf.read_pdf")

__all__ = [
    "agents",
    "boto3",
    "extracted_markdown",
    "mail",
    "mcp",
    "mcp_auth",
    "mcp_http",
    "mcp_metadata",
    "moto_server",
    "openai",
    "qdrant_client",
    "read_pdf",
]
