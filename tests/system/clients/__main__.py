"""make clients: runs clients in JavaScript against the real web server on the embedded services, on loopback.

supabase-js, and a program in TypeScript with types generated from the served schema. Needs Node and npm. The packages
are installed into $RAGSITE_DATA, with the versions and checksums of the package-lock.json in supabase and typescript.
The exit status is 1 if a program does not compile or a check fails.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import django

from benchmarks.__main__ import free_port
from benchmarks.support.server import Server
from ragsite.postgres import identity
from tests.support.database import delete_all_rows

SUPABASE = Path(__file__).with_name("supabase")
TYPESCRIPT = Path(__file__).with_name("typescript")


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
    identity.run_process_as(identity.WORKER)
    django.setup()
    folder = Path(os.environ["RAGSITE_DATA"])
    supabase, typescript = _install(SUPABASE, folder / "node"), _install(TYPESCRIPT, folder / "typescript")
    with Server(folder, free_port(), worker=False) as server:
        delete_all_rows()
        variables = {"ADDRESS": server.address, **_create_credentials()}
        environment = {**os.environ, **variables}
        commands = [
            ["node", str(supabase / "check.mjs")],
            ["npm", "--prefix", str(typescript), "run", "--silent", "types"],
            ["npm", "--prefix", str(typescript), "run", "--silent", "compile"],
            ["node", str(typescript / "check.js")],
        ]
        return max(subprocess.run(command, env=environment).returncode for command in commands)


def _install(package: Path, folder: Path) -> Path:
    if not (shutil.which("node") and shutil.which("npm")):
        sys.exit("Node is missing: `make clients` needs node (20 or later) and npm.")
    folder.mkdir(parents=True, exist_ok=True)
    for file in package.iterdir():
        shutil.copy(file, folder)
    if subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=folder).returncode:
        sys.exit("npm could not install the clients; check the network.")
    return folder


def _create_credentials() -> dict[str, str]:
    """Create the tests' world with one document, and credentials.

    Returns:
        KEY and TOKEN of a member of `home`, and LIMITED_KEY of a user of `abroad`, which may query once a minute.
    """
    from rest_framework_simplejwt.tokens import AccessToken

    from orgs.access.permissions import Scope
    from orgs.api_keys import service
    from tests.support.factories import World, ingest_text

    world = World.create()
    ingest_text(world.source("library"), "zebra", "Zebras have stripes.", title="Zebras")
    world.abroad.queries_per_minute = 1
    world.abroad.save(update_fields=["queries_per_minute"])
    limited = service.issue(
        user=world.users["foreigner"], organization=world.abroad, name="limited", scopes=[Scope.QUERY]
    )
    return {
        "KEY": world.key("member", Scope.QUERY).secret,
        "LIMITED_KEY": limited.secret,
        "TOKEN": str(AccessToken.for_user(world.users["member"])),
    }


if __name__ == "__main__":
    sys.exit(main())
