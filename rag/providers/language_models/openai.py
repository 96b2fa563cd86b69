"""Generates with any endpoint that has OpenAI's chat completions API: OpenAI, OpenRouter, a gateway, Ollama, vLLM."""

import asyncio
import contextlib
import functools
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import httpx2
from opentelemetry.trace import Span

from rag.errors import GenerationFailed
from rag.providers.http import backoff, bounded_responses
from rag.providers.http.openai_client import open_async_client, open_client, translate_error
from rag.providers.limits.model_call_limiter import LANGUAGE_MODEL_CALLS
from rag.text.markup.pictures import PictureFilter, disable_in_answer
from rag.types import Message
from ragsite.http.bodies.json_types import JsonObject
from ragsite.observability import tracing

from .reasoning import AnswerFilter, remove_reasoning
from .stoppable_stream import iterate_async

if TYPE_CHECKING:
    import openai
    from openai.types.chat import ChatCompletionChunk

_MAX_ATTEMPTS = 3
# How long a health check waits for the endpoint.
MAX_HEALTH_CHECK_SECONDS = 3.0
# Maximum length of an answer, which is more than models generate.
MAX_ANSWER_CHARACTERS = 1_000_000
Reply = TypeVar("Reply")


class OpenAILanguageModel:
    """Generates with a model of an endpoint. A call ends within `timeout` seconds."""

    def __init__(self, *, name: str, base_url: str, api_key: str, timeout: float, measured_as: str = "") -> None:
        self.name = name
        self._measured_as = measured_as
        self._base_url = base_url
        self._api_key = api_key
        self._timeout = timeout

    def complete(self, messages: Sequence[Message], *, temperature: float | None = None) -> str:
        # Importing and creating the client takes seconds, which must not count against the deadline.
        _ = self._client
        with LANGUAGE_MODEL_CALLS.call(self.name, GenerationFailed, measured_as=self._measured_as) as span:
            _add_messages(span, messages)
            deadline = time.monotonic() + self._timeout
            text = self._retry(deadline, lambda: self._complete_once(messages, temperature, deadline))
            tracing.add_content(span, "gen_ai.output.messages", text)
            return text

    def stream(self, messages: Sequence[Message], *, temperature: float | None = None) -> Iterator[str]:
        # Importing takes seconds, which must not count against the deadline.
        import openai  # noqa: F401

        with LANGUAGE_MODEL_CALLS.call(self.name, GenerationFailed, measured_as=self._measured_as) as span:
            _add_messages(span, messages)
            yield from iterate_async(lambda: self._generate(messages, temperature))

    async def _generate(self, messages: Sequence[Message], temperature: float | None) -> AsyncIterator[str]:
        """Yield the parts of a streamed answer until it is complete, too long or late.

        Raises:
            GenerationFailed: If the model fails, or the stream ends before it says that the answer is complete.
        """
        length = 0
        is_complete = False
        answer, pictures = AnswerFilter(), PictureFilter()
        with self._translated_reading_errors():
            async with (
                asyncio.timeout(self._timeout),
                self._async_client() as client,
                await self._start_stream(client, messages, temperature) as reply,
            ):
                async for data in bounded_responses.read_events(reply.response.aiter_raw()):
                    if data == b"[DONE]":
                        is_complete = True
                        break
                    delta, is_last = _parse_event(data)
                    is_complete = is_complete or is_last
                    length += len(delta)
                    if length > MAX_ANSWER_CHARACTERS:
                        raise bounded_responses.ResponseTooLarge
                    if text := pictures.add(answer.add(delta)):
                        yield text
        if not is_complete:
            raise GenerationFailed(f"{self.name} broke off its answer.")
        if text := pictures.add(answer.finish()) + pictures.finish():
            yield text

    def _complete_once(self, messages: Sequence[Message], temperature: float | None, deadline: float) -> str:
        """Request the whole answer once, and read it until the deadline."""
        request = self._request(messages, temperature, deadline)
        with (
            self._client.chat.completions.with_streaming_response.create(**request) as response,
            self._translated_reading_errors(),
        ):
            content = bounded_responses.read_all(response.http_response.iter_raw())
            text = json.loads(content)["choices"][0]["message"]["content"]
            if isinstance(text, str) and len(text) > MAX_ANSWER_CHARACTERS:
                raise bounded_responses.ResponseTooLarge
        text = remove_reasoning(bounded_responses.remove_unstorable(text)) if isinstance(text, str) else ""
        if not text.strip():
            raise GenerationFailed(f"{self.name} answered without a text.")
        return disable_in_answer(text)

    async def _start_stream(
        self, client: "openai.AsyncOpenAI", messages: Sequence[Message], temperature: float | None
    ) -> "openai.AsyncStream[ChatCompletionChunk]":
        """Open the stream, with retries. Later nothing is retried: text that was passed on cannot be taken back."""
        import openai

        deadline = time.monotonic() + self._timeout
        request = self._request(messages, temperature, deadline)
        for attempt in range(_MAX_ATTEMPTS):
            try:
                return await client.chat.completions.create(**request, stream=True)
            except openai.APIError as error:
                pause = self._pause_seconds(error, attempt, deadline)
            await asyncio.sleep(pause)
        raise AssertionError  # `_pause_seconds` raises after the last attempt

    def _request(self, messages: Sequence[Message], temperature: float | None, deadline: float) -> JsonObject:
        request: JsonObject = {
            "model": self.name,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "timeout": max(0.1, deadline - time.monotonic()),
        }
        return request if temperature is None else {**request, "temperature": temperature}

    def _retry(self, deadline: float, call: Callable[[], Reply]) -> Reply:
        """Return the call's result, and retry temporary failures while there is time.

        Raises:
            GenerationFailed: If the last attempt failed.
        """
        import openai

        for attempt in range(_MAX_ATTEMPTS):
            try:
                return call()
            except openai.APIError as error:
                pause = self._pause_seconds(error, attempt, deadline)
            time.sleep(pause)
        raise AssertionError  # `_pause_seconds` raises after the last attempt

    def _pause_seconds(self, error: "openai.APIError", attempt: int, deadline: float) -> float:
        """Return the seconds until the next attempt.

        Raises:
            GenerationFailed: If there is no further attempt.
        """
        failure = translate_error(error, self.name, GenerationFailed)
        pause = failure.retry_after_seconds or backoff.GENERATION_CALL.pause_seconds(attempt + 1)
        if not failure.is_retryable or attempt == _MAX_ATTEMPTS - 1 or time.monotonic() + pause >= deadline:
            raise failure from error
        return pause

    @contextlib.contextmanager
    def _translated_reading_errors(self) -> Iterator[None]:
        """Translate errors while an answer is read into GenerationFailed."""
        try:
            yield
        except (TimeoutError, httpx2.TimeoutException) as error:
            raise GenerationFailed(
                f"{self.name} did not answer within {self._timeout:g} s.", is_timeout=True
            ) from error
        except httpx2.HTTPError as error:
            raise GenerationFailed(f"{self.name} broke off its answer.") from error
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise GenerationFailed(f"{self.name} answered with something that cannot be read.") from error

    @functools.cached_property
    def _client(self) -> "openai.OpenAI":
        return open_client(api_key=self._api_key, base_url=self._base_url, max_retries=0)

    def _async_client(self) -> "openai.AsyncOpenAI":
        """Create a client for one stream. Closing the client closes its connection."""
        return open_async_client(
            api_key=self._api_key,
            base_url=self._base_url,
            max_bytes=bounded_responses.MAX_STREAM_BYTES,
            max_retries=0,
            timeout=self._timeout,
        )


def _add_messages(span: Span | None, messages: Sequence[Message]) -> None:
    tracing.add_content(
        span, "gen_ai.input.messages", [{"role": message.role, "content": message.content} for message in messages]
    )


def is_reachable(base_url: str, api_key: str) -> bool:
    """Return whether the endpoint answers and accepts the key, within MAX_HEALTH_CHECK_SECONDS.

    Listing the models costs nothing. An endpoint that does not know it, or is busy, counts as reachable.
    """
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    try:
        with (
            bounded_responses.BoundedClient(timeout=MAX_HEALTH_CHECK_SECONDS) as client,
            client.stream("GET", base_url.rstrip("/") + "/models", headers=headers) as response,
        ):
            return response.status_code < 500 and response.status_code not in (401, 403)
    except (httpx2.HTTPError, httpx2.InvalidURL):
        return False


def _parse_event(data: bytes) -> tuple[str, bool]:
    """Return the text of one event of a stream, empty without text, and whether the event ends the answer."""
    event = json.loads(data)
    if "error" in event:
        raise ValueError
    if not event.get("choices"):
        return "", False
    choice = event["choices"][0]
    text = bounded_responses.remove_unstorable(choice["delta"].get("content") or "")
    return text, choice.get("finish_reason") is not None
