"""The client without asyncio. `async_client` has the same operations."""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import httpx2

from . import calls, uploads
from .calls import Call
from .errors import NotFound
from .models import Answer, AnswerEvent, Document, Job, NewDocument, Passage, Source


class Client:
    """Calls ragsite with an API key. Use it in a `with` block, or close it."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        organization: str = "",
        timeout: float = 120.0,
        max_retries: int = calls.MAX_RETRIES,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        """Create a client.

        Args:
            base_url: The address of ragsite, such as https://rag.example.com.
            api_key: An API key, or an access token.
            organization: The slug of an organisation, if the key is for several.
            timeout: Seconds without any response.
            max_retries: How often a refused request is sent again.
            transport: Replaces the network, for tests.
        """
        self._max_retries = max_retries
        self._sleep: Callable[[float], object] = time.sleep
        self._http = httpx2.Client(
            base_url=base_url, headers=calls.headers(api_key, organization), timeout=timeout, transport=transport
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def list_sources(self, *, search: str = "") -> Iterator[Source]:
        """Yield the data sources that the key's user may see."""
        return (Source.from_json(item) for item in self._pages("/api/rag/sources", "sources", search=search))

    def create_source(self, name: str, **fields: Any) -> Source:
        """Create a data source. `fields` are the API's, such as `visibility="team", teams=["support"]`."""
        return Source.from_json(self._call(calls.create_source(name, fields)))

    def list_documents(self, source: str) -> Iterator[Document]:
        """Yield the documents of a data source, by path."""
        path = f"/api/rag/sources/{source}/documents"
        return (Document.from_json(item) for item in self._pages(path, "documents"))

    def delete_document(self, source: str, document_id: str) -> None:
        """Delete a document."""
        self._call(Call("DELETE", f"/api/rag/sources/{source}/documents/{document_id}"))

    def search(
        self, query: str, *, sources: Sequence[str] = (), top_k: int = 10, filters: Sequence[Mapping[str, Any]] = ()
    ) -> list[Passage]:
        """Return the best passages, best first; of all data sources that the key's user may query if none are given."""
        try:
            body = self._call(calls.retrieve(query, sources, top_k, filters))
        except NotFound as error:
            if error.code == "NO_RESULTS":
                return []
            raise
        return [Passage.from_json(item) for item in body["documents"]]

    def ask(self, question: str, *, sources: Sequence[str] = ()) -> Answer:
        """Return an answer from the documents."""
        return Answer.from_json(self._call(calls.ask(question, sources)))

    def stream(self, question: str, *, sources: Sequence[str] = ()) -> Iterator[AnswerEvent]:
        """Yield an answer while it is written. Closing the iterator stops the server."""
        call, reader = calls.ask(question, sources, stream=True), calls.EventReader()
        with contextlib.closing(self._open(call)) as response:
            for line in response.iter_lines():
                if event := reader.read_line(line):
                    yield event

    def ingest(self, source: str, documents: Iterable[NewDocument]) -> Job:
        """Send texts as a job. It becomes one job, even if the connection breaks and it is sent again."""
        return Job.from_json(self._call(calls.ingest(source, documents)))

    def upload(
        self,
        source: str,
        files: Sequence[Path],
        *,
        folder: Path | None = None,
        on_progress: uploads.OnProgress = lambda sent: None,
    ) -> list[Job]:
        """Upload files, as one job for each form.

        Args:
            source: The id or slug of the data source.
            files: The files.
            folder: The paths of the documents are relative to it; without it they are the files' names.
            on_progress: Called with the number of bytes that were sent since the last call.
        """
        jobs = []
        for batch in uploads.batches(files):
            with uploads.form(source, batch, folder, on_progress) as form:
                call = calls.creation("/api/rag/ingest")
                jobs.append(Job.from_json(self._call(call, **form)))
        return jobs

    def get_job(self, job_id: str) -> Job:
        """Return a job with its progress."""
        return Job.from_json(self._call(Call("GET", f"/api/rag/ingest/{job_id}")))

    def wait(
        self, job: Job, *, on_progress: Callable[[Job], None] = lambda job: None, interval_seconds: float = 1.0
    ) -> Job:
        """Wait until a job has ended, and return it. `on_progress` is called with each state of it."""
        while not (job := self.get_job(job.job_id)).is_finished:
            on_progress(job)
            self._sleep(interval_seconds)
        on_progress(job)
        return job

    def _pages(self, path: str, name: str, **params: str) -> Iterator[dict[str, Any]]:
        call: Call | None = calls.list_page(path, **params)
        while call:
            with contextlib.closing(self._open(call)) as response:
                response.read()
                body, call = calls.read(response), calls.next_page(call, response)
            yield from body[name]

    def _call(self, call: Call, **content: Any) -> Any:
        with contextlib.closing(self._open(call, **content)) as response:
            response.read()
            return calls.read(response)

    def _open(self, call: Call, **content: Any) -> httpx2.Response:
        """Send a request until it is answered, and return the response, which is not read if it is a success."""
        for attempt in range(1, self._max_retries + 2):
            content = content or {"json": call.body}
            request = self._http.build_request(
                call.method, call.path, params=dict(call.params), headers=call.headers, **content
            )
            outcome: httpx2.Response | httpx2.TransportError
            try:
                outcome = self._http.send(request, stream=True)
            except httpx2.TransportError as error:
                outcome = error
            pause = calls.pause_before_repeating(call, attempt, outcome) if attempt <= self._max_retries else None
            if pause is None:
                break
            if isinstance(outcome, httpx2.Response):
                outcome.close()
            self._sleep(pause)
        if isinstance(outcome, httpx2.TransportError):
            raise calls.no_response(outcome) from outcome
        if not outcome.is_success:
            with contextlib.closing(outcome):
                outcome.read()
                calls.read(outcome)
        return outcome
