"""An organisation, an editor and a source that exist while a benchmark runs, with a client of the HTTP API."""

import http.client
import json
import secrets
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from accounts.models import User
from orgs.creation import add_member, create_organization
from rag.models import DataSource, EmbeddingModel, Original
from rag.models.content.originals import storage_path
from rag.providers import file_storage


class ApiClient:
    def __init__(self, address: str) -> None:
        self._host = urlsplit(address).netloc
        self._connection = http.client.HTTPConnection(self._host, timeout=600)
        self._headers = {"Content-Type": "application/json"}

    def __enter__(self) -> Self:
        name = f"bench-{secrets.token_hex(4)}"
        self.organization = create_organization(name=name, slug=name)
        self.user = User.objects.create_user(f"{name}@bench.example", name)
        add_member(user=self.user, organization=self.organization, roles=("editor",))
        self.source = self.new_source("main")
        return self.signed_in(self.user.email, name)

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.organization.delete()
        self.user.delete()

    def signed_in(self, email: str, password: str) -> Self:
        """Send the following requests as this user."""
        token = self.post("/api/auth/token", {"email": email, "password": password})["access"]
        self._headers["Authorization"] = f"Bearer {token}"
        return self

    @property
    def token(self) -> str:
        """The access token of the user who has signed in."""
        return self._headers["Authorization"].removeprefix("Bearer ")

    def at(self, address: str) -> "ApiClient":
        """The same environment with requests to another server."""
        other = ApiClient(address)
        other._headers = self._headers
        return other

    def new_source(self, slug: str, model: EmbeddingModel | None = None) -> DataSource:
        """Create a source, with the default embedding model unless another is given."""
        model = model or EmbeddingModel.objects.default()
        return DataSource.objects.create(organization=self.organization, slug=slug, name=slug, embedding_model=model)

    def delete_model(self, model: EmbeddingModel) -> None:
        """Delete the model and its sources, with the files that were sent to them."""
        sources = self.organization.sources.filter(embedding_model=model)
        originals = Original.objects.filter(source__in=sources)
        for original in originals:
            file_storage.delete(storage_path(original))
        originals.delete()
        sources.delete()
        model.delete()

    def post(self, path: str, body: Any) -> Any:
        return self._send("POST", path, json.dumps(body))

    def get(self, path: str) -> Any:
        return self._send("GET", path)

    def _send(self, method: str, path: str, body: str | None = None) -> Any:
        return json.loads(self.read(method, path, body))

    def read(self, method: str, path: str, body: str | None = None) -> bytes:
        """Return the bytes of a response. Sends over one kept connection, as client libraries do.

        It connects again if the server has closed the connection.
        """
        try:
            self._connection.request(method, path, body, self._headers)
            response = self._connection.getresponse()
        except (BrokenPipeError, http.client.RemoteDisconnected):
            self._connection.close()
            self._connection.request(method, path, body, self._headers)
            response = self._connection.getresponse()
        content = response.read()
        if response.status >= 400:
            raise RuntimeError(f"{method} {path}: {response.status} {content.decode()}")
        return content
