"""make clients: runs clients against the real web server on the embedded services, on loopback.

- supabase-js, and a program in TypeScript with types generated from the served schema. They need Node and npm, and are
  left out with a message if these are missing.
- A client in Python that openapi-python-client generates from the served schema, and a program that uses it. mypy
  checks both.
- The check of signatures in the workflow of n8n, on an event that the product's own code has signed. It needs Node.
- The wheel of clients/python in an environment of its own: its command, and its retrievers in LangChain and LlamaIndex.

What they need is installed into $RAGSITE_DATA, with the versions and hashes of the package-lock.json in supabase and
typescript, and of the requirements.txt in integrations and generated. The exit status is 1 if something does not
compile or a check fails.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import django

from benchmarks.support.server import Server, free_port
from ragsite.postgres import identity
from tests.support.data.database import delete_all_rows

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PAGES = [ROOT / "docs" / "user" / name for name in ("langchain.md", "llamaindex.md")]
WORKFLOW = ROOT / "docs" / "user" / "n8n-webhook.json"
_UV = [sys.executable, "-m", "uv"]


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
    identity.run_process_as(identity.WORKER)
    django.setup()
    from tests.system.clients import data  # models can be imported from here on

    folder = Path(os.environ["RAGSITE_DATA"])
    javascript = _install_javascript(folder)
    python = _install_wheel(folder / "python")
    generator = _install_generator(folder / "generated")
    with Server(folder, free_port(), worker=False) as server:
        delete_all_rows()
        world, credentials = data.create()
        environment = {**os.environ, "ADDRESS": server.address, **credentials}
        if javascript:
            javascript.append(["node", str(HERE / "n8n" / "check.mjs"), str(WORKFLOW), data.signed_event()])
        statuses = [subprocess.run(command, env=environment).returncode for command in javascript]
        statuses.append(_check_generated_client(generator, folder / "generated", environment))
        data.create_office(world)
        check = [str(python), "-I", str(HERE / "integrations" / "check.py"), *map(str, PAGES)]
        statuses.append(subprocess.run(check, env=environment).returncode)
    return max(statuses)


def _install_javascript(folder: Path) -> list[list[str]]:
    """Return the commands that check the clients in JavaScript; none without Node."""
    if not (shutil.which("node") and shutil.which("npm")):
        print("skipped: supabase-js and TypeScript need node (20 or later) and npm.")
        return []
    supabase = _install(HERE / "supabase", folder / "node")
    typescript = _install(HERE / "typescript", folder / "typescript")
    return [
        ["node", str(supabase / "check.mjs")],
        ["npm", "--prefix", str(typescript), "run", "--silent", "types"],
        ["npm", "--prefix", str(typescript), "run", "--silent", "compile"],
        ["node", str(typescript / "check.js")],
    ]


def _install(package: Path, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for file in package.iterdir():
        shutil.copy(file, folder)
    _install_with(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=folder)
    return folder


def _install_generator(folder: Path) -> Path:
    """Install openapi-python-client into an empty environment, and return the folder of its programs."""
    shutil.rmtree(folder, ignore_errors=True)
    programs = folder / "env" / "bin"
    _install_with([*_UV, "venv", "--quiet", "--python", sys.executable, str(folder / "env")])
    install = [*_UV, "pip", "install", "--quiet", "--python", str(programs / "python"), "--require-hashes"]
    _install_with([*install, "-r", str(HERE / "generated" / "requirements.txt")])
    return programs


def _check_generated_client(programs: Path, folder: Path, environment: dict[str, str]) -> int:
    """Generate a client from the served schema, check it and the program that uses it, and run that."""
    client, schema = folder / "client", f"{environment['ADDRESS']}/api/schema"
    generate = [str(programs / "openapi-python-client"), "generate", "--fail-on-warning", "--url", schema]
    status = subprocess.run(
        [*generate, "--output-path", str(client), "--config", str(HERE / "generated" / "config.yaml")], env=environment
    ).returncode
    if status:
        return status
    shutil.copy(HERE / "generated" / "check.py", client)
    mypy = [str(programs / "mypy"), "--config-file=", "--no-error-summary"]  # not this project's configuration
    commands = [
        [*mypy, "ragsite_generated"],
        [*mypy, "--strict", "check.py"],
        [str(programs / "python"), "check.py"],
    ]
    return max(subprocess.run(command, cwd=client, env=environment).returncode for command in commands)


def _install_wheel(folder: Path) -> Path:
    """Build the wheel, install it into an empty environment, and return that environment's Python."""
    shutil.rmtree(folder, ignore_errors=True)
    python = folder / "env" / "bin" / "python"
    _install_with([*_UV, "build", "--quiet", "--wheel", str(ROOT / "clients" / "python"), "--out-dir", str(folder)])
    (wheel,) = folder.glob("*.whl")
    _install_with([*_UV, "venv", "--quiet", "--python", sys.executable, str(folder / "env")])
    install = [*_UV, "pip", "install", "--quiet", "--python", str(python)]
    _install_with([*install, "--require-hashes", "-r", str(HERE / "integrations" / "requirements.txt")])
    _install_with([*install, "--no-deps", str(wheel)])
    _install_with([*_UV, "pip", "check", "--quiet", "--python", str(python)])
    return python


def _install_with(command: list[str], cwd: Path | None = None) -> None:
    if subprocess.run(command, cwd=cwd).returncode:
        sys.exit(f"the clients could not be installed; check the network: {' '.join(command)}")


if __name__ == "__main__":
    sys.exit(main())
