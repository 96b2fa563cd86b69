"""The real web server, nginx and gunicorn, on the test database."""

import http.client
import json
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
from django.conf import settings
from django.db import connection

from ragsite.run import commands

MB = 1024 * 1024


class Web:
    """A running web server on the test database, with a folder for its data and stored files.

    Attributes:
        port: Its port on loopback.
        data: RAGSITE_DATA.
        stored_files: RAG_STORAGE_FOLDER.
        temporary_files: RAG_TEMP_FOLDER.
    """

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.data = folder / "data with spaces"  # nginx reads the paths of its files there
        self.stored_files, self.temporary_files = folder / "files", folder / "tmp"
        self.temporary_files.mkdir()
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.support.processes.worker_settings",
            "TEST_DATABASE": str(connection.settings_dict["NAME"]),
            "TEST_MODELS": str(settings.RAG_MODEL_CACHE_FOLDER),  # to build them takes longer than the start
            "RAGSITE_DATA": str(self.data),
            "WEB_CONCURRENCY": "1",
            "RAG_STORAGE_FOLDER": str(self.stored_files),
            "RAG_TEMP_FOLDER": str(self.temporary_files),
            "RAG_MAX_FILE_BYTES": str(100 * MB),
        }
        with open(folder / "web.log", "wb") as log:
            command = commands.web(host="127.0.0.1", port=self.port)
            self._process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        self._master = psutil.Process(self._process.pid)

    def is_ready(self) -> bool:
        """Return whether every process of gunicorn has started: nginx answers earlier, with a 503."""
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            client.request("GET", "/healthz")
            return client.getresponse().status == 200
        except OSError:
            return False
        finally:
            client.close()

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(20)

    def memory(self) -> int:
        """The memory of its processes in bytes, without what they share."""
        return sum(child.memory_full_info().uss for child in self._master.children(recursive=True))

    def environment(self) -> dict[str, str]:
        """The environment variables of its processes."""
        return self._master.environ()

    def send(self, key: str, headers: str, parts: Iterator[bytes], *, closes: bool = False) -> tuple[int, Any]:
        """Send a request; return the status and body of the response, which may come before everything is sent.

        Args:
            key: API key.
            headers: Headers that describe the body.
            parts: The body.
            closes: Close the sending side after the body.
        """
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as client:
            start = f"POST /api/rag/ingest HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\nConnection: close\r\n"
            client.sendall(start.encode() + headers.encode() + b"\r\n\r\n")
            for part in parts:
                try:
                    client.sendall(part)
                except OSError:
                    break
            if closes:
                client.shutdown(socket.SHUT_WR)
            response = http.client.HTTPResponse(client)
            response.begin()
            with response:
                return response.status, json.loads(response.read())
