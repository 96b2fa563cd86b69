"""Very many hostile connections from one address, while somebody at another address searches."""

import contextlib
import http.client
import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from tests.system.abuse.traffic import Person

from .expensive import describe

HOSTILE_ADDRESS, SEARCHER_ADDRESS = "127.0.0.2", "127.0.0.3"
_BUSY_SECONDS = float(os.environ.get("ABUSE_HOSTILE_SECONDS", "25"))
_SECONDS_BETWEEN_SENDS = 1.0
_HOST = "Host: localhost\r\n"


@dataclass
class Outcome:
    """What the searcher saw: how searches failed, and the seconds that each took.

    `recovery` is the time of the first search after the connections were closed.
    """

    failures: Counter[str] = field(default_factory=Counter)
    before: list[float] = field(default_factory=list)
    meanwhile: list[float] = field(default_factory=list)
    recovery: float = 0.0
    growth_bytes: int = 0

    def describe(self) -> str:
        return (
            f"searches before: {describe(self.before)}; {len(self.meanwhile)} meanwhile: {describe(self.meanwhile)}; "
            f"first one afterwards {self.recovery:.2f} s; memory grew by {self.growth_bytes / 2**20:.0f} MB"
        )


def first_bytes(number: int, person: Person, large_file: str) -> tuple[bytes, bytes]:
    """What a connection sends at once and then again and again. Half of them have no account."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in person.headers.items()) if number % 8 >= 4 else ""
    head = f" HTTP/1.1\r\n{_HOST}{lines}"
    chat = b'{"messages": [{"role": "user", "content": "Where are the keys?"}], "stream": true}'
    json_type = "Content-Type: application/json\r\n"
    kinds = (
        (f"GET /healthz{head}".encode(), b"X-A: b\r\n"),
        (f"POST {'/api/rag/search' if lines else '/admin/login/'}{head}Content-Length: 60000\r\n\r\na".encode(), b"a"),
        (f"GET {large_file}{head}\r\n".encode(), b""),
        (f"POST /api/chat{head}{json_type}Content-Length: {len(chat)}\r\n\r\n".encode() + chat, b""),
    )
    return kinds[number % 4]


@contextlib.contextmanager
def connections(port: int, count: int, person: Person, large_file: str) -> Iterator[None]:
    """Hold hostile connections while the block runs. Those that the server ends are opened again."""
    finished = threading.Event()
    clients: dict[int, socket.socket] = {}

    def keep_open() -> None:
        while not finished.is_set():
            for number in range(count):
                first, repeated = first_bytes(number, person, large_file)
                try:
                    if number not in clients:
                        clients[number] = _connect(port, first)
                    elif repeated:
                        clients[number].send(repeated)
                    elif clients[number].recv(1) == b"":
                        raise ConnectionError
                except BlockingIOError:
                    pass
                except OSError:
                    if client := clients.pop(number, None):
                        client.close()
            finished.wait(_SECONDS_BETWEEN_SENDS)

    thread = threading.Thread(target=keep_open, daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()
        for client in clients.values():
            client.close()


def _connect(port: int, first: bytes) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(5)
    client.bind((HOSTILE_ADDRESS, 0))
    client.connect(("127.0.0.1", port))
    client.sendall(first)
    client.setblocking(False)
    return client


def search_meanwhile(
    port: int,
    count: int,
    hostile: Person,
    searcher: Person,
    large_file: str,
    *,
    memory: Callable[[], int],
    attack: Callable[[], None] = lambda: None,
) -> Outcome:
    """Search before, while and after the connections are held. `memory` measures the server in bytes.

    `attack` runs at the same time, and the connections are held at least until it ends.
    """
    outcome = Outcome()
    outcome.before = [_time_search(port, searcher, f"before {number}", outcome) for number in range(50)]
    bytes_before = memory()
    with connections(port, count, hostile, large_file), ThreadPoolExecutor(1) as executor:
        ends_at = time.monotonic() + _BUSY_SECONDS
        attacking = executor.submit(attack)
        while time.monotonic() < ends_at or not attacking.done():
            outcome.meanwhile.append(_time_search(port, searcher, f"meanwhile {len(outcome.meanwhile)}", outcome))
            time.sleep(0.02)
        attacking.result()
        outcome.growth_bytes = memory() - bytes_before
    outcome.recovery = _time_search(port, searcher, "afterwards", outcome)
    return outcome


def _time_search(port: int, person: Person, suffix: str, outcome: Outcome) -> float:
    """Search and return how many seconds it took. A failure is counted. The suffix makes the question a new one."""
    started_at, body = time.monotonic(), f'{{"query": "where do the spare keys hang, {suffix}"}}'
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=25, source_address=(SEARCHER_ADDRESS, 0))
    try:
        client.request("POST", "/api/rag/search", body, {"Content-Type": "application/json", **person.headers})
        response = client.getresponse()
        response.read()
        failure = "" if response.status == 200 else str(response.status)
    except (OSError, http.client.HTTPException) as error:
        failure = type(error).__name__
    finally:
        client.close()
    if failure:
        outcome.failures[f"search: {failure}"] += 1
    return time.monotonic() - started_at
