"""The product on six hosts: two web servers, two for workers, one for PostgreSQL and Redis, one with the proxy."""

import os
import secrets
import shutil
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Self

from ragsite.run import commands

from .data_host import POSTGRES_PORT, REDIS_PORT, administrator_url, redis_url
from .network import CLIENT_ADDRESS, Host, HostProcess, create_switch

WEB_HOSTS, WORKER_HOSTS = ("web-1", "web-2"), ("worker-1", "worker-2")
_ADDRESSES = {"data": 10, "proxy": 20, "web-1": 31, "web-2": 32, "worker-1": 41, "worker-2": 42}
_WEB_PORT = 8000
DRAIN_SECONDS, STOP_SECONDS = 6, 20
RESTART_SECONDS = 2  # as in deploy/systemd
_MAX_START_SECONDS = 180
_CONFIGURATION = Path(__file__).parents[4] / "deploy" / "haproxy.cfg"
# The clocks of two hosts differ from the others' by so many seconds.
CLOCK_DIFFERENCES = {"web-2": 8, "worker-2": -8}
_CLOCK = Path(__file__).with_name("clock.c")


class Installation:
    """Runs while the context is entered. Processes are named `host/kind`, such as `worker-1/scheduler`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: dict[str, HostProcess] = {}
        self.hosts: dict[str, Host] = {}
        self._password = secrets.token_urlsafe(24)

    def __enter__(self) -> Self:
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "data").mkdir(parents=True)
        self._build_clock()
        create_switch()
        self.hosts = {name: Host(name, number) for name, number in _ADDRESSES.items()}
        self._environment = self._hosts_environment()
        data, password = str(self.folder / "data"), self._password
        self._start(
            "data/services", [sys.executable, "-m", f"{__package__}.data_host", data, self.address("data"), password]
        )
        self.wait_until((self.folder / "data" / "ready").exists, "PostgreSQL and Redis did not start")
        self.hosts["web-1"].run(
            [sys.executable, "-m", "ragsite.run.migrate_and_collect"], environment=self._of_host("web-1")
        )
        # This process is on no host: it reaches the data through sockets, whatever is cut.
        os.environ.update(
            self._environment,
            DATABASE_URL=administrator_url(self.folder / "data"),
            REDIS_URL=redis_url(self.folder / "data"),
            RAGSITE_DATA=str(self.folder / "driver"),
        )
        return self

    def __exit__(self, *_: object) -> None:
        for name, process in self.processes.items():
            if name == "data/services":
                process.terminate()
                process.wait(30)
            process.kill()
        for host in self.hosts.values():
            host.stop()

    def address(self, host: str) -> str:
        return self.hosts[host].address

    @property
    def base_url(self) -> str:
        return f"https://{self.address('proxy')}"

    @property
    def trust(self) -> ssl.SSLContext:
        """Trusts the proxy's certificate."""
        return ssl.create_default_context(cafile=str(self.folder / "proxy.crt"))

    def _hosts_environment(self) -> dict[str, str]:
        database = f"ragsite:{self._password}@{self.address('data')}:{POSTGRES_PORT}/ragsite"
        inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "PYTHONPATH") if name in os.environ}
        return {
            **inherited,
            "DATABASE_URL": f"postgresql://{database}",
            "REDIS_URL": f"redis://{self.address('data')}:{REDIS_PORT}/0",
            "SECRET_KEY": secrets.token_urlsafe(64),
            "ALLOWED_HOSTS": f"{self.address('proxy')},localhost",  # of health checks
            "RAG_TRUST_X_FORWARDED_PROTO": "true",
            "RAG_TRUSTED_PROXIES": self.address("proxy"),
            "RAG_ALLOWED_PRIVATE_HOSTS": CLIENT_ADDRESS,  # where the embedding endpoint is
            "RAG_STORAGE_FOLDER": str(self.folder / "files"),
            "RAG_TOKEN_SIGNATURES": "off",
            "RAG_RATE_LIMITS": "off",
            "RAG_CHUNK_TOKENS": "48",
            "RAG_CHUNK_OVERLAP_TOKENS": "6",
            "RAG_DRAIN_SECONDS": str(DRAIN_SECONDS),
            "RAG_STOP_SECONDS": str(STOP_SECONDS),
            "WEB_CONCURRENCY": "1",
            "DJANGO_SETTINGS_MODULE": "tests.system.cluster.settings",
        }

    def _of_host(self, host: str) -> dict[str, str]:
        environment = {**self._environment, "RAGSITE_DATA": str(self.folder / host)}
        if self.has_clock_differences and host in CLOCK_DIFFERENCES:
            environment |= {"LD_PRELOAD": str(self._clock), "CLOCK_DIFFERENCE": str(CLOCK_DIFFERENCES[host])}
        return environment

    @property
    def _clock(self) -> Path:
        return self.folder / "clock.so"

    @property
    def has_clock_differences(self) -> bool:
        """Whether clocks differ: only where there is a C compiler."""
        return self._clock.exists()

    def _build_clock(self) -> None:
        if compiler := shutil.which("cc"):
            subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", str(self._clock), str(_CLOCK)], check=True)

    # Processes.

    def start_all(self) -> None:
        """Start the product on its hosts, then the proxy."""
        for host in WEB_HOSTS:
            self.start(f"{host}/web")
        for host in WORKER_HOSTS:
            for kind in ("worker", "background", "scheduler"):
                self.start(f"{host}/{kind}")
        self.wait_until(
            lambda: all(self.status(host, "/readyz") == 200 for host in WEB_HOSTS), "A web host did not become ready"
        )
        self._start_proxy()

    def start(self, name: str, command: list[str] | None = None) -> None:
        """Start a process as `deploy/systemd` does on each host, or with another command."""
        host, _, kind = name.partition("/")
        schedule = self.folder / host
        usual = {
            "web": commands.web(host=self.address(host), port=_WEB_PORT),
            "worker": commands.worker(),
            "background": commands.background(),
            "scheduler": commands.scheduler(folder=schedule),
        }
        self._start(name, command or usual[kind])

    def stop(self, name: str) -> None:
        """Ask a process to stop, and kill it if it does not within a minute."""
        process = self.processes.pop(name)
        process.terminate()
        process.wait(60)
        process.kill()

    def _start(self, name: str, command: list[str]) -> None:
        host, _, kind = name.partition("/")
        (self.folder / host).mkdir(exist_ok=True)
        log = self.folder / f"{host}-{kind}.log"
        self.processes[name] = self.hosts[host].start(command, environment=self._of_host(host), log=log)

    def _start_proxy(self) -> None:
        """Start HAProxy with deploy/haproxy.cfg and the addresses and the certificate of here."""
        certificate, key = self.folder / "proxy.crt", self.folder / "proxy.key"
        request = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=proxy"
        names = ["-addext", f"subjectAltName=IP:{self.address('proxy')}", "-keyout", str(key), "-out", str(certificate)]
        subprocess.run([*request.split(), *names], check=True, capture_output=True)
        (self.folder / "proxy.pem").write_text(certificate.read_text() + key.read_text())
        text = _CONFIGURATION.read_text().replace("/etc/haproxy/ragsite.pem", str(self.folder / "proxy.pem"))
        for number, host in enumerate(WEB_HOSTS, start=11):
            text = text.replace(f"10.0.0.{number}:8000", f"{self.address(host)}:{_WEB_PORT}")
        (self.folder / "haproxy.cfg").write_text(text)
        self._start(
            "proxy/haproxy", [shutil.which("haproxy") or "haproxy", "-W", "-f", str(self.folder / "haproxy.cfg")]
        )

    def status(self, host: str, path: str) -> int:
        """Return the status of a web host's answer that does not go through the proxy; 0 if there is none."""
        request = urllib.request.Request(
            f"http://{self.address(host)}:{_WEB_PORT}{path}", headers={"Host": "localhost"}
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            return error.code
        except (urllib.error.URLError, OSError):
            return 0

    def wait_until(self, condition: Callable[[], object], failure: str, *, seconds: float = _MAX_START_SECONDS) -> None:
        """Wait until the condition holds. Raises RuntimeError with the failure after so many seconds."""
        deadline = time.monotonic() + seconds
        while not condition():
            ended = [name for name, process in self.processes.items() if not process.is_running]
            if ended or time.monotonic() > deadline:
                failure += f" ({', '.join(ended)} ended)" if ended else ""
                raise RuntimeError(f"{failure}; see the logs in {self.folder}")
            time.sleep(0.1)
