"""A model provider on loopback: OpenAI-compatible embeddings and chat completions, reranking in three dialects, and
entailment in two.

It computes vectors from the words of a text, so texts with common words are similar, and ranks by common words. Each
text entails the others, except those in `probabilities`. Its chat answers with `replies`, or repeats the last message.
Tests can queue faults: error statuses with headers, delays and invalid bodies.
"""

import contextlib
import functools
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import numpy as np


def tool_call(name: str, arguments: dict[str, Any] | str, *, number: int = 1) -> dict[str, Any]:
    """A message in which the model calls a tool. `arguments` is sent as it is if it is a string."""
    arguments_text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    call = {"id": f"call-{number}", "type": "function", "function": {"name": name, "arguments": arguments_text}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


class ProviderServer:
    def __init__(self, dimensions: int = 384, address: str = "127.0.0.1") -> None:
        self.dimensions = dimensions
        self.requests: list[dict[str, Any]] = []
        self.answered = 0  # answered requests, without those whose client gave up before the answer
        self.replies: list[str | dict[str, Any]] = []  # texts, or complete messages (with tool calls)
        self.faults: list[tuple[int, dict[str, str], bytes | None]] = []
        self.probabilities: dict[str, float] = {}  # of hypotheses; 0.9 for others
        self.break_on = ""  # embedding a text that contains this fails
        # While this is cleared, answers wait until it is set, at most a minute.
        self.stall = threading.Event()
        self.stall.set()
        # A stream pauses after its first event until this is set; with None it does not pause.
        self.may_continue: threading.Event | None = None
        self.left = threading.Event()  # set when a client closes the connection before the end of the stream
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # the content would wait 40 ms for the acknowledgement of the headers

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                provider.requests.append({"path": self.path, "key": self.headers.get("Authorization"), **body})
                provider.stall.wait(60)
                provider.answered += 1
                status, headers, content = provider.answer(self.path, body)
                if provider.may_continue is not None and headers.get("Content-Type") == "text/event-stream":
                    self._reply_slowly(content, provider.may_continue)
                else:
                    self._reply(status, headers, content)

            def _reply_slowly(self, content: bytes, may_continue: threading.Event) -> None:
                """Send the first event, wait for `may_continue`, send the rest; set `left` if the client leaves."""
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                first, rest = content.split(b"\n\n", 1)
                self.wfile.write(first + b"\n\n")
                self.connection.settimeout(0.02)
                for _ in range(3000):
                    if may_continue.is_set():
                        self.connection.settimeout(None)
                        self.wfile.write(rest)
                        return
                    with contextlib.suppress(TimeoutError):
                        if not self.connection.recv(1):
                            provider.left.set()
                            return

            def do_GET(self) -> None:
                provider.requests.append({"path": self.path, "key": self.headers.get("Authorization")})
                provider.stall.wait(60)
                provider.answered += 1
                self._reply(*provider.answer(self.path, {}))

            def _reply(self, status: int, headers: dict[str, str], content: bytes) -> None:
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                with contextlib.suppress(ConnectionError):  # a client that gave up waiting
                    self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer((address, 0), Handler)
        self._server.daemon_threads = True
        self.base_url = f"http://{address}:{self._server.server_port}/v1"

    def fail(self, status: int, *, body: bytes | None = None, **headers: str) -> None:
        """Answer the next request with this status, body and headers. Calls add up: one for each request."""
        self.faults.append((status, {name.replace("_", "-"): value for name, value in headers.items()}, body))

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        if self.faults:
            status, headers, content = self.faults.pop(0)
            error = {"error": {"message": "as the test asked", "type": "test", "code": None, "param": None}}
            return status, headers, json.dumps(error).encode() if content is None else content
        if path == "/v1/models":
            return 200, {}, b'{"object": "list", "data": []}'
        if path == "/v1/chat/completions":
            return self.complete(body)
        if path in ("/v1/rerank", "/voyage/rerank", "/tei/rerank"):
            return self._ranking(path, body)
        if path in ("/tei/predict", "/v1/score"):
            return self._entailments(body)
        if path != "/v1/embeddings":
            return 404, {}, b'{"error": {"message": "no such path"}}'
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        assert body["encoding_format"] == "float", "a plain server does not know base64"
        assert all(texts), "a plain server refuses empty inputs"
        if self.break_on and any(self.break_on in text for text in texts):
            return 500, {}, b'{"error": {"message": "as the test asked"}}'
        rows = [
            {"object": "embedding", "index": index, "embedding": self._vector(text).tolist()}
            for index, text in enumerate(texts)
        ]
        rows.reverse()  # the protocol has an index because the order is not guaranteed
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        reply = {"object": "list", "model": body["model"], "data": rows, "usage": usage}
        return 200, {}, json.dumps(reply).encode()

    def complete(self, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        reply = self.replies.pop(0) if self.replies else str(body["messages"][-1]["content"])
        message = reply if isinstance(reply, dict) else {"role": "assistant", "content": reply}
        head = {"id": "chat-1", "created": 1, "model": body["model"]}
        if not body.get("stream"):
            reason = "tool_calls" if message.get("tool_calls") else "stop"
            choice = {"index": 0, "message": message, "finish_reason": reason}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            completion = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
            return 200, {}, json.dumps(completion).encode()
        deltas = [{"content": word} for word in re.findall(r"\S+\s*", message["content"])]
        events = [
            {**head, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]} for delta in deltas
        ]
        lines = [*(json.dumps(event) for event in events), "[DONE]"]
        content = "".join(f"data: {line}\n\n" for line in lines).encode()
        return 200, {"Content-Type": "text/event-stream"}, content

    def _ranking(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        """Rank in the dialect of Cohere, Jina and vLLM, of Voyage, or of Text Embeddings Inference."""
        is_tei, is_voyage = path.startswith("/tei"), path.startswith("/voyage")
        texts = body.get("texts" if is_tei else "documents")
        if texts is None or (is_tei and len(texts) > 32):
            return 422, {}, b"{}"
        if is_voyage and (set(body) - {"model", "query", "documents"} or not all(texts)):
            return 400, {}, b'{"detail": "Argument not supported by our API"}'
        query_words = set(body["query"].lower().split())
        shares = [len(query_words & set(text.lower().split())) / len(query_words) for text in texts]
        score = "score" if is_tei else "relevance_score"
        rows = [{"index": index, score: share} for index, share in enumerate(shares)]
        rows.sort(key=lambda row: -row[score])
        reply: Any = rows if is_tei else {"object": "list", "data": rows} if is_voyage else {"results": rows}
        return 200, {}, json.dumps(reply).encode()

    def _entailments(self, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        """Predict labels as Text Embeddings Inference does, or answer vLLM's score API with rows in another order."""
        if "inputs" in body:
            if len(body["inputs"]) > 32:
                return 413, {}, b"{}"
            predictions = []
            for _, hypothesis in body["inputs"]:
                probability = self.probabilities.get(hypothesis, 0.9)
                scores = {"contradiction": (1 - probability) / 2, "ENTAILMENT": probability}
                scores["neutral"] = scores["contradiction"]
                predictions.append([{"label": label, "score": score} for label, score in scores.items()])
            return 200, {}, json.dumps(predictions).encode()
        assert len(body["text_1"]) == len(body["text_2"])
        rows = [
            {"index": index, "object": "score", "score": self.probabilities.get(hypothesis, 0.9)}
            for index, hypothesis in enumerate(body["text_2"])
        ]
        return 200, {}, json.dumps({"object": "list", "model": body["model"], "data": rows[::-1]}).encode()

    def _vector(self, text: str) -> np.ndarray:
        words = [word.strip(".,?!") for word in text.lower().split()]
        # Not normalized: the client must do that. Numbers with few digits are written and read in half of the time.
        vectors = (_vector_of_word(word, self.dimensions) for word in words or [""])
        return sum(vectors, np.zeros(self.dimensions)).round(4)

    @contextmanager
    def running(self) -> Iterator[Self]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield self
        finally:
            self.stall.set()
            self._server.shutdown()
            self._server.server_close()
            thread.join()


class GatedProviderServer(ProviderServer):
    """Answers its first request. The later ones wait until the gate is opened, at most 20 seconds."""

    def __init__(self, dimensions: int = 384) -> None:
        super().__init__(dimensions)
        self.gate = threading.Event()

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        if len(self.requests) > 1:
            self.gate.wait(20)
        return super().answer(path, body)


@functools.lru_cache(maxsize=2000)
def _vector_of_word(word: str, dimensions: int) -> np.ndarray:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
    return np.random.default_rng(seed).standard_normal(dimensions)
