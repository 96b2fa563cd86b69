"""An embedding endpoint on loopback that answers after 50 ms, like one over a network, and needs little CPU time.

It returns a few hundred random vectors that are serialized once, because computing vectors would take CPU time from
what is measured.
"""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

LATENCY_SECONDS = 0.05
_VECTORS = 512


@contextlib.contextmanager
def running(dimensions: int) -> Iterator[str]:
    """Run the endpoint in a process of its own; yield its base URL."""
    command = [sys.executable, "-m", "benchmarks.support.embedding_endpoint", str(dimensions)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def main(dimensions: int) -> None:
    random = np.random.default_rng(1).standard_normal((_VECTORS, dimensions))
    random /= np.linalg.norm(random, axis=1, keepdims=True)
    serialized = [json.dumps([round(float(value), 5) for value in row]) for row in random]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            started = time.monotonic()
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            rows = ",".join(
                f'{{"object":"embedding","index":{index},"embedding":{serialized[hash(text) % _VECTORS]}}}'
                for index, text in enumerate(body["input"])
            )
            content = (
                f'{{"object":"list","model":"remote","data":[{rows}],"usage":{{"prompt_tokens":1,"total_tokens":1}}}}'
            )
            time.sleep(max(0.0, LATENCY_SECONDS - (time.monotonic() - started)))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]))
