"""Any endpoint that speaks OpenAI's POST /chat/completions: OpenAI, OpenRouter, a Gemini gateway, Ollama, vLLM."""

import asyncio
import contextlib
import functools
import json
import random
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import httpx2

from rag.errors import GenerationFailed
from rag.providers.http import bounded
from rag.providers.http.concurrency import LANGUAGE_MODELS
from rag.providers.http.openai_client import opened, opened_asynchronously, translated
from rag.types import Message

from .aside import aside

if TYPE_CHECKING:
    import openai

_ATTEMPTS = 3
# Of one answer: more than models write.
_MOST_CHARACTERS = 1_000_000
Reply = TypeVar("Reply")


class OpenAILanguageModel:
    """One model of one endpoint. A call ends within `timeout` seconds, whatever the endpoint does."""

    def __init__(self, *, name: str, base_url: str, api_key: str, timeout: float) -> None:
        self.name = name
        self._base_url = base_url
        self._api_key = api_key
        self._timeout = timeout

    def complete(self, messages: Sequence[Message], *, temperature: float | None = None) -> str:
        _ = self._client  # imported and made before the time runs
        with LANGUAGE_MODELS.one(self.name, GenerationFailed):
            deadline = time.monotonic() + self._timeout
            return self._attempts(deadline, lambda: self._complete_once(messages, temperature, deadline))

    def stream(self, messages: Sequence[Message], *, temperature: float | None = None) -> Iterator[str]:
        import openai  # noqa: F401  # seconds, before the time runs

        with LANGUAGE_MODELS.one(self.name, GenerationFailed):
            yield from aside(lambda: self._speak(messages, temperature))

    async def _speak(self, messages: Sequence[Message], temperature: float | None) -> AsyncIterator[str]:
        length = 0
        with self._reading():
            async with (
                asyncio.timeout(self._timeout),
                self._asynchronous() as client,
                await self._opened(client, messages, temperature) as reply,
            ):
                async for data in bounded.events_as_they_come(reply.response.aiter_bytes()):
                    if data == b"[DONE]":
                        return
                    piece = _piece(data)
                    length += len(piece)
                    if length > _MOST_CHARACTERS:
                        raise bounded.TooMuch
                    if piece:
                        yield piece

    def _complete_once(self, messages: Sequence[Message], temperature: float | None, deadline: float) -> str:
        request = self._request(messages, temperature, deadline)
        # Read piece by piece: a server that trickles must not keep us beyond the deadline.
        with (
            self._client.chat.completions.with_streaming_response.create(**request) as response,
            self._reading(),
        ):
            content = bounded.whole(bounded.until(deadline, response.iter_bytes()))
            text = json.loads(content)["choices"][0]["message"]["content"]
        text = bounded.storable(text) if isinstance(text, str) else ""
        if not text.strip():
            raise GenerationFailed(f"{self.name} answered without a text.")
        return text

    async def _opened(
        self, client: "openai.AsyncOpenAI", messages: Sequence[Message], temperature: float | None
    ) -> Any:
        """Tried again only until the first word: what was sent on cannot be taken back."""
        import openai

        deadline = time.monotonic() + self._timeout
        request = self._request(messages, temperature, deadline)
        for attempt in range(_ATTEMPTS):
            try:
                return await client.chat.completions.create(**request, stream=True)
            except openai.APIError as error:
                pause = self._pause(error, attempt, deadline)
            await asyncio.sleep(pause)
        raise AssertionError  # the last attempt returns or raises

    def _request(self, messages: Sequence[Message], temperature: float | None, deadline: float) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self.name,
            "messages": [{"role": each.role, "content": each.content} for each in messages],
            "timeout": max(0.1, deadline - time.monotonic()),
        }
        return request if temperature is None else {**request, "temperature": temperature}

    def _attempts(self, deadline: float, call: Callable[[], Reply]) -> Reply:
        """The call's result; after a passing failure another try, as long as there is time. Raises GenerationFailed."""
        import openai

        for attempt in range(_ATTEMPTS):
            try:
                return call()
            except openai.APIError as error:
                pause = self._pause(error, attempt, deadline)
            time.sleep(pause)
        raise AssertionError  # the last attempt returns or raises

    def _pause(self, error: "openai.APIError", attempt: int, deadline: float) -> float:
        """Seconds until the next attempt. Raises GenerationFailed if there is to be none."""
        failure = translated(error, self.name, GenerationFailed)
        pause = _retry_after(error) or 0.25 * 2**attempt * random.uniform(1, 1.5)
        if not failure.is_retryable or attempt == _ATTEMPTS - 1 or time.monotonic() + pause >= deadline:
            raise failure from error
        return pause

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        """What can go wrong with an answer that has begun, as GenerationFailed."""
        try:
            yield
        except (TimeoutError, httpx2.TimeoutException) as error:
            raise GenerationFailed(
                f"{self.name} did not answer within {self._timeout:g} s.", is_timeout=True
            ) from error
        except httpx2.HTTPError as error:
            raise GenerationFailed(f"{self.name} did not come to the end of its answer.") from error
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise GenerationFailed(f"{self.name} answered something that is not understood.") from error

    @functools.cached_property
    def _client(self) -> "openai.OpenAI":
        return opened(api_key=self._api_key, base_url=self._base_url, max_retries=0)

    def _asynchronous(self) -> "openai.AsyncOpenAI":
        """For one stream: its connection is closed with it."""
        return opened_asynchronously(
            api_key=self._api_key, base_url=self._base_url, max_retries=0, timeout=self._timeout
        )


def answers(base_url: str, api_key: str) -> bool:
    """Whether the endpoint answers, within three seconds. GET /models costs nothing; an endpoint that does not know it
    or is busy answers, one that refuses the key does not."""
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    try:
        with (
            httpx2.Client(timeout=1.5) as client,  # once for connecting, once for the answer
            client.stream("GET", base_url.rstrip("/") + "/models", headers=headers) as response,
        ):
            return response.status_code < 500 and response.status_code not in (401, 403)
    except (httpx2.HTTPError, httpx2.InvalidURL):
        return False


def _piece(data: bytes) -> str:
    """The text in one event of a stream; many have none."""
    event = json.loads(data)
    if "error" in event:
        raise ValueError
    return bounded.storable(event["choices"][0]["delta"].get("content") or "") if event.get("choices") else ""


def _retry_after(error: "openai.APIError") -> float:
    """The pause in seconds that the endpoint asks for, 0 if it does not."""
    headers = getattr(getattr(error, "response", None), "headers", {})
    try:
        return max(0.0, float(headers.get("retry-after", 0)))
    except ValueError:  # a date: rare, and the ordinary pause will do
        return 0.0
