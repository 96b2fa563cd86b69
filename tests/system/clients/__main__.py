"""make clients: runs supabase-js against the real web server on the embedded services, on loopback.

Needs Node and npm. The package is installed into $RAGSITE_DATA/node, with the versions and checksums of
tests/system/clients/supabase/package-lock.json. The exit status is 1 if a check of check.mjs fails.
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


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
    identity.run_process_as(identity.WORKER)
    django.setup()
    folder = Path(os.environ["RAGSITE_DATA"])
    script = _install(folder / "node")
    with Server(folder, free_port(), worker=False) as server:
        delete_all_rows()
        variables = {"ADDRESS": server.address, **_create_credentials()}
        return subprocess.run(["node", str(script)], env={**os.environ, **variables}).returncode


def _install(folder: Path) -> Path:
    if not (shutil.which("node") and shutil.which("npm")):
        sys.exit("Node is missing: `make clients` needs node (20 or later) and npm.")
    folder.mkdir(parents=True, exist_ok=True)
    for file in SUPABASE.iterdir():
        shutil.copy(file, folder)
    if subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=folder).returncode:
        sys.exit("npm could not install the clients; check the network.")
    return folder / "check.mjs"


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
