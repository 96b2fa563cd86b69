"""Hosts out of Linux namespaces: each has a network, a name, processes and mounts of its own, on one switch.

Everything belongs to the process that made it: the namespaces have no names, and disappear with their last process.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import IO

import psutil

# Where the clients are. The hosts count up from there.
CLIENT_ADDRESS = "10.77.0.1"
_PREFIX_BITS = 24
_SWITCH = "switch"
_TOOLS = ("ip", "bridge", "unshare", "nsenter")
_OWN_NAMESPACES = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
_DISABLED, _FORWARDING = "0", "3"  # states of a port of the switch


def missing_requirement() -> str:
    """Return why no namespaces can be made here; empty if they can."""
    if missing := [tool for tool in _TOOLS if not shutil.which(tool)]:
        return f"{' and '.join(missing)} are missing: install iproute2 and util-linux."
    if os.geteuid() != 0:
        return "Only root may make network namespaces."
    attempt = subprocess.run([*_OWN_NAMESPACES, "ip", "link", "add", _SWITCH, "type", "bridge"], capture_output=True)
    return "" if attempt.returncode == 0 else f"The kernel makes no namespaces here: {attempt.stderr.decode().strip()}"


def run_in_own_namespaces(command: list[str], marker: str) -> int:
    """Run a command in new namespaces, with this variable set. Whatever is left of it when it ends is killed."""
    with subprocess.Popen([*_OWN_NAMESPACES, *command], env={**os.environ, marker: "1"}) as process:
        for number in (signal.SIGINT, signal.SIGTERM):  # the command hears of Ctrl-C itself
            signal.signal(number, lambda number, _: None if number == signal.SIGINT else _terminate(process.pid))
        return process.wait()


def _terminate(process_id: int) -> None:
    for child in psutil.Process(process_id).children():
        child.terminate()


def create_switch() -> None:
    """Create the switch of the hosts in the network of this process, which gets an address too."""
    for command in (
        f"ip link add {_SWITCH} type bridge",
        f"ip address add {CLIENT_ADDRESS}/{_PREFIX_BITS} dev {_SWITCH}",
        f"ip link set {_SWITCH} up",
        "ip link set lo up",
    ):
        subprocess.run(command.split(), check=True)


class HostProcess:
    """A process of a host, which leads a process group."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """Send SIGKILL to the process and its children at once."""
        if self.is_running:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def terminate(self) -> None:
        """Ask the main process alone to stop, as systemd does with KillMode=mixed."""
        for process in psutil.Process(self._process.pid).children():  # the process itself is nsenter
            process.terminate()

    def wait(self, timeout: float) -> bool:
        """Wait until it has ended; False if it has not in this time, in seconds."""
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return False
        return True


class Host:
    """A host on the switch: its first process keeps its namespaces."""

    def __init__(self, name: str, number: int) -> None:
        """Create the host. `number` is the last part of its address."""
        self.name, self.address = name, f"{CLIENT_ADDRESS.rpartition('.')[0]}.{number}"
        first = ["sh", "-c", f"hostname {name} && exec sleep infinity"]
        command = ["unshare", "--net", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", *first]
        self._first_process = psutil.Process(subprocess.Popen(command).pid)
        while not (children := self._first_process.children()) or children[0].name() != "sleep":
            time.sleep(0.01)
        namespace = str(children[0].pid)
        self._enter = ["nsenter", "--target", namespace, "--net", "--uts", "--pid", "--mount"]
        self._enter += [f"--wd={os.getcwd()}", "--"]
        subprocess.run(
            ["ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", namespace], check=True
        )
        subprocess.run(["ip", "link", "set", name, "master", _SWITCH, "up"], check=True)
        for command in (
            ["ip", "address", "add", f"{self.address}/{_PREFIX_BITS}", "dev", "eth0"],
            ["ip", "link", "set", "eth0", "up"],
            ["ip", "link", "set", "lo", "up"],
        ):
            subprocess.run([*self._enter, *command], check=True)

    def start(self, command: list[str], *, environment: dict[str, str], log: Path) -> HostProcess:
        with open(log, "ab") as output:
            return HostProcess(self._popen(command, environment, output))

    def run(self, command: list[str], *, environment: dict[str, str]) -> None:
        """Run a command to its end. Raises CalledProcessError if it fails."""
        subprocess.run([*self._enter, *command], env=environment, check=True, stdin=subprocess.DEVNULL)

    def _popen(self, command: list[str], environment: dict[str, str], output: IO[bytes]) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [*self._enter, *command],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )

    def cut(self) -> None:
        """Drop all packets from and to the host. Neither side sees that a cable is missing."""
        self._set_port(_DISABLED)

    def connect(self) -> None:
        self._set_port(_FORWARDING)

    def _set_port(self, state: str) -> None:
        subprocess.run(["bridge", "link", "set", "dev", self.name, "state", state], check=True)

    def stop(self) -> None:
        """Kill all its processes; its network disappears."""
        for process in (*self._first_process.children(recursive=True), self._first_process):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
