"""The contracts' own example requests: scripts/contract-examples sends them, docs/contracts/README.md shows them."""

import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from string import Template

import pytest

from tests.support.factories import World
from tests.support.http import Client

ROOT = Path(__file__).parents[4]
SCRIPT = ROOT / "scripts" / "contract-examples"
# In the script: how an expected status starts, and how a field of an answer is stored for later commands.
EXPECT, REMEMBER = "expect", re.compile(r"(\w+)=\$\(field (\w+)\)")


def examples() -> Iterator[str]:
    """The commands of the script, one by one."""
    part = SCRIPT.read_text().partition("# The examples begin here.\n")[2].partition("# The examples end here.")[0]
    yield from part.strip().split("\n\n")


def words(command: str) -> list[str]:
    """Split a command like the shell, without expanding variables."""
    return shlex.split(command.replace("\\\n", " "))


def send(client: Client, command: list[str], variables: dict[str, str]) -> tuple[int, object]:
    """Send the request that curl would send. Raises for an unknown flag."""
    method, address, headers, data = "GET", "", {}, None
    rest = iter([Template(word).substitute(variables) if "$" in word else word for word in command])
    assert next(rest) == "curl"
    for word in rest:
        if word == "-X":
            method = next(rest)
        elif word == "-H":
            name, _, value = next(rest).partition(": ")
            headers[name] = value
        elif word == "-d":
            data = next(rest).encode()
        else:
            assert not word.startswith("-"), word
            address = word
    path = address.removeprefix(client.address)
    reply = Client(client.address, headers).send(method, path, data)
    return reply.status, reply.body


def test_every_contract_example_gets_its_documented_status(api: Callable[..., Client], live_world: World) -> None:
    client = api()
    variables = {"ADDRESS": client.address, "TOKEN": live_world.key("owner").secret}
    contracts = set()
    for example in examples():
        match = REMEMBER.search(example)
        expect, status, name, *command = words(REMEMBER.sub("", example))
        assert expect == EXPECT
        status_code, body = send(client, command, variables)
        assert status_code == int(status), (name, body)
        contracts.add(name.partition(":")[0])
        if match:
            assert isinstance(body, dict)
            variables[match[1]] = body[match[2]]
    assert contracts == {"v3", "retrieval", "pipeline", "agent", "search service"}


def test_the_documentation_shows_the_same_commands() -> None:
    sent = [words(REMEMBER.sub("", example)) for example in examples()]  # expect, status, name, command…
    page = (ROOT / "docs" / "contracts" / "README.md").read_text()
    section = page.partition("## Can I try the contracts' own examples?")[2]
    block = section.partition("```sh\n# v3: ingestion")[2].partition("```")[0]
    documented = ("# v3: ingestion" + block).strip().split("\n\n")
    assert [example.partition("\n")[0] for example in documented] == [
        f"# {name}: {status}" for _, status, name, *_ in sent
    ]
    assert [words(example.partition("\n")[2]) for example in documented] == [example[3:] for example in sent]


@pytest.mark.parametrize("status", ["200", "000"])
def test_a_wrong_status_is_reported_with_exit_code_1(tmp_path: Path, status: str) -> None:
    """With a fake curl that always reports the same status, which not every example expects."""
    stub = tmp_path / "curl"
    stub.write_text(
        f'#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho \'{{"jobId": "1"}}\' > "$2"\nprintf {status}\n'
    )
    stub.chmod(0o755)
    environment = {**os.environ, "KEY": "rk_key", "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    process = subprocess.run(["bash", str(SCRIPT)], env=environment, capture_output=True, text=True, timeout=60)
    assert process.returncode == 1
    assert f"WRONG {status}  pipeline: create data source: expected 201" in process.stdout
    assert len(process.stdout.splitlines()) == len(list(examples())) + 1
