"""A process of each kind is killed, each host is cut off, and everything is restarted in turn."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .hosts.installation import DRAIN_SECONDS, RESTART_SECONDS, WEB_HOSTS, WORKER_HOSTS, Installation
from .schedules import ScheduleWatch
from .verdict import Restart

# How long a host is cut off: longer than the leases of schedulers (15 s) and of documents (20 s), and than sessions of
# PostgreSQL last (20 s), except the hosts that everything needs.
_LONG_CUT_SECONDS, _SHORT_CUT_SECONDS = 32, 10
# A celery worker finishes its current message.
_MAX_STOP_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Fault:
    """`inject` returns when the fault is over. Clients may see errors, unless `is_seen` is false."""

    name: str
    inject: Callable[[], None]
    is_seen: bool = True


class Faults:
    """The faults of one run, and what was observed of web servers that were restarted in order."""

    def __init__(self, installation: Installation, watch: ScheduleWatch) -> None:
        self._installation, self._watch = installation, watch
        self.restarts: list[Restart] = []

    def all(self) -> Iterator[Fault]:
        kill, cut, long, short = self._kill, self._cut, _LONG_CUT_SECONDS, _SHORT_CUT_SECONDS
        yield Fault("web server killed", lambda: kill("web-1/web"))
        yield Fault("worker killed", lambda: kill("worker-1/worker"), is_seen=False)
        yield Fault("active scheduler killed", lambda: kill(f"{self._active()}/scheduler"), is_seen=False)
        yield Fault("background worker killed", lambda: kill("worker-2/background"), is_seen=False)
        yield Fault("web host cut off", lambda: cut("web-2", long))
        yield Fault("host of the active scheduler cut off", lambda: cut(self._active(), long), is_seen=False)
        yield Fault("the other worker host cut off", lambda: cut(self._inactive(), long), is_seen=False)
        yield Fault("data host cut off", lambda: cut("data", short))
        yield Fault("proxy cut off", lambda: cut("proxy", short))
        yield Fault("everything restarted in turn", self._restart_in_turn, is_seen=False)

    def _active(self) -> str:
        return self._watch.active_host() or WORKER_HOSTS[0]

    def _inactive(self) -> str:
        return next(host for host in WORKER_HOSTS if host != self._active())

    def _kill(self, name: str) -> None:
        self._installation.processes[name].kill()
        time.sleep(RESTART_SECONDS)
        self._installation.start(name)

    def _cut(self, host: str, seconds: float) -> None:
        self._installation.hosts[host].cut()
        time.sleep(seconds)
        self._installation.hosts[host].connect()

    def _restart_in_turn(self) -> None:
        """Restart one host after the other, as docs/operations/scale.md says."""
        for host in WEB_HOSTS:
            self.restarts.append(self._restart_web(host))
        for host in WORKER_HOSTS:
            names = [name for name in self._installation.processes if name.startswith(f"{host}/")]
            for name in names:
                self._installation.processes[name].terminate()
            for name in names:
                if not self._installation.processes[name].wait(_MAX_STOP_SECONDS):
                    raise RuntimeError(f"{name} did not stop in {_MAX_STOP_SECONDS} s")
                self._installation.start(name)
            self._installation.wait_until(lambda host=host: self._is_consuming(host), f"{host} does not work")  # type: ignore[misc]

    def _is_consuming(self, host: str) -> bool:
        """Return whether the host's processes have connected to Redis again."""
        from rag.models import WorkerHeartbeat

        return WorkerHeartbeat.objects.filter(name__endswith=f"@{host}").count() >= 3

    def _restart_web(self, host: str) -> Restart:
        """Stop a web server, watch what it answers meanwhile, and start it again."""
        installation = self._installation
        process = installation.processes[f"{host}/web"]
        process.terminate()
        begin = time.monotonic()
        not_ready_after = refused_after = None
        while process.is_running and time.monotonic() < begin + DRAIN_SECONDS + _MAX_STOP_SECONDS:
            status, moment = installation.status(host, "/readyz"), time.monotonic() - begin
            if status == 503 and not_ready_after is None:
                not_ready_after = moment
            if status == 0 and refused_after is None:
                refused_after = moment
            time.sleep(0.1)
        if refused_after is None and not process.is_running:
            refused_after = time.monotonic() - begin
        installation.start(f"{host}/web")
        installation.wait_until(lambda: installation.status(host, "/readyz") == 200, f"{host} did not become ready")
        # Until the proxy knows it again: two checks.
        time.sleep(5)
        return Restart(host, not_ready_after, refused_after)
