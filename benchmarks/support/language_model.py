"""A language model on loopback for evaluations: it repeats sentences of the prompt's passages, with their numbers.

It stands for a model that answers from its passages. Every fourth answer also has a sentence that no passage supports,
with a citation, which the product has to remove.
"""

import contextlib
import json
import re
import threading
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NAME = "stub"
INVENTION = "The emperor ordered 4711 carriages"
_SENTENCES = 2
_PASSAGE = re.compile(r"^\[(\d+)\] [^\n]*\n(.*?)(?=^\[\d+\] |^Question: |\Z)", re.MULTILINE | re.DOTALL)
_QUESTION = re.compile(r"^Question: (.*)$", re.MULTILINE)
_SENTENCE = re.compile(r"[^.!?\n]{10,400}[.!?]?")
_WORD = re.compile(r"\w{3,}")


def answer(prompt: str) -> str:
    """Return the sentences that share most words with the question, in the prompt's order, each with its passage."""
    question = "".join(_QUESTION.findall(prompt)[-1:])
    words = set(_WORD.findall(question.lower()))
    sentences = [
        (number, sentence.strip(" #-|."))
        for number, text in _PASSAGE.findall(prompt)
        for sentence in _SENTENCE.findall(text)
    ]
    shared = [len(words & set(_WORD.findall(sentence.lower()))) for _, sentence in sentences]
    best = sorted(range(len(sentences)), key=lambda index: -shared[index])[:_SENTENCES]
    chosen = [f"{sentence} [{number}]." for number, sentence in (sentences[index] for index in sorted(best))]
    if chosen and zlib.crc32(question.encode()) % 4 == 0:
        chosen.append(f"{INVENTION} [1].")
    return " ".join(chosen) or "The passages do not say it."


@contextlib.contextmanager
def running() -> Iterator[str]:
    """Serve the model in this process; yields its base URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = answer(body["messages"][-1]["content"])
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        reply = {"id": "stub", "object": "chat.completion", "created": 0, "model": NAME, "choices": [choice]}
        content_type = "application/json"
        content = json.dumps(reply).encode()
        if body.get("stream"):
            delta = {"index": 0, "finish_reason": "stop", "delta": choice["message"]}
            event = {**reply, "object": "chat.completion.chunk", "choices": [delta]}
            content = f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n".encode()
            content_type = "text/event-stream"
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass
