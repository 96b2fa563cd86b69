"""make integrations: counterparts of others against the running product, on loopback.

- scim2-tester, in an environment of its own.
- oidc-provider with Chromium: sign-in, the roles and teams of groups, sign-out here and at the provider.
- samlp with Chromium: the same with SAML, at a provider of another site.

The last two need Node, npm and Chromium, and are left out with a message if one is missing.

What they need is installed into $RAGSITE_DATA, with the versions and hashes of scim/requirements.txt and
the lock files beside. The exit status is 1 if a check fails.
"""

import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import django

from benchmarks.support.server import Server, free_port
from ragsite.postgres import identity
from tests.support.data.database import delete_all_rows

HERE = Path(__file__).parent
_UV = [sys.executable, "-m", "uv"]
_MAX_SECONDS = 600
_MAX_START_SECONDS = 30


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
    os.environ["RAG_SIGN_IN_PRIVATE_HOSTS"] = "127.0.0.1,localhost"
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"  # Playwright keeps an event loop in this thread
    identity.run_process_as(identity.WORKER)
    django.setup()
    folder = Path(os.environ["RAGSITE_DATA"])
    tester, program = _install_tester(folder / "scim"), _browser()
    provider = _install_provider(folder / "oidc") if program else None
    saml_provider = _install_provider(folder / "saml") if program else None
    issuer = f"http://127.0.0.1:{free_port()}"
    with Server(folder, free_port(), worker=False) as server:
        from . import data  # models can be imported now

        delete_all_rows()
        connected = data.create(issuer)
        if program and provider:
            _check_sign_in(server.address, issuer, provider, program, connected)
        if program and saml_provider:
            _check_saml(server.address, saml_provider, program)
        environment = {**os.environ, "ADDRESS": server.address, "SCIM_TOKEN": connected.scim_token}
        check = [str(tester), "-I", str(HERE / "scim" / "check.py")]
        return subprocess.run(check, env=environment, timeout=_MAX_SECONDS).returncode


def _check_sign_in(address: str, issuer: str, provider: Path, program: str, connected: object) -> None:
    """Sign in twice, and sign out here and at the provider. Raises AssertionError if something is not as expected."""
    from . import browser, data

    with _running_provider(provider, address, issuer, connected), browser.open_page(program, address) as page:
        browser.sign_in(page, issuer)
        assert data.rights() == (["editor"], ["support"]), data.rights()
        browser.sign_out_here(page, issuer)
        browser.sign_in(page, issuer)
        browser.sign_out_there(page, issuer)
    print("oidc-provider: signed in, got the role and the team of a group, and signed out here and there")


def _check_saml(address: str, folder: Path, program: str) -> None:
    """The same with SAML. The provider is `localhost`, another site: no cookies come with its forms."""
    from . import browser, data

    port, connection = free_port(), data.begin_saml()
    issuer, base = f"http://localhost:{port}", f"{address}/sign-in/saml/{connection.provider_id}"
    environment = {
        "PORT": str(port),
        "ISSUER": issuer,
        "ENTITY_ID": f"{base}/metadata",
        "CONSUMER": f"{base}/response",
        "SIGN_OUT": f"{base}/logout",
        "SP_CERTIFICATE": connection.certificate,
        "EMAIL": data.SAML_EMAIL,
        **_create_certificate(folder),
    }
    with _running(folder, environment, f"http://127.0.0.1:{port}/metadata"):
        with urllib.request.urlopen(f"{issuer}/metadata", timeout=5) as reply:
            data.connect_saml(connection, reply.read().decode())
        with browser.open_page(program, address) as page:
            browser.sign_in_with_saml(page, issuer)
            assert data.rights(data.SAML_EMAIL) == (["editor"], []), data.rights(data.SAML_EMAIL)
            browser.sign_out_of_saml_here(page)
            browser.sign_in_with_saml(page, issuer)
            browser.sign_out_of_saml_there(page, issuer)
    print("samlp: signed in, got the role of a group, and signed out here and there")


def _create_certificate(folder: Path) -> dict[str, str]:
    """Create the provider's key and certificate, and return where they are."""
    from tests.support.servers.saml_provider import SamlProvider

    provider = SamlProvider()
    (folder / "key.pem").write_bytes(provider.private_key())
    (folder / "certificate.pem").write_text(provider.certificate)
    return {"KEY": str(folder / "key.pem"), "CERTIFICATE": str(folder / "certificate.pem")}


@contextmanager
def _running_provider(folder: Path, address: str, issuer: str, connected: object) -> Iterator[None]:
    from . import data

    provider = getattr(connected, "provider")  # noqa: B009  # its type can be imported only after Django's start
    environment = {
        "PORT": issuer.rpartition(":")[2],
        "ADDRESS": address,
        "CALLBACK": f"{address}/sign-in/callback/{provider.pk}",
        "LOGOUT": f"{address}/sign-in/back-channel-logout/{provider.pk}",
        "CLIENT_ID": data.CLIENT_ID,
        "CLIENT_SECRET": data.CLIENT_SECRET,
        "EMAIL": data.EMAIL,
    }
    with _running(folder, environment, f"{issuer}/.well-known/openid-configuration"):
        yield


@contextmanager
def _running(folder: Path, environment: dict[str, str], url: str) -> Iterator[None]:
    """Run the provider in the folder until the block ends, from when it answers at the URL."""
    environment |= {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    with (folder / "provider.log").open("wb") as log:
        process = subprocess.Popen(["node", "provider.mjs"], cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            _wait_for(url, process)
            yield
        finally:
            process.terminate()
            process.wait(timeout=10)


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _MAX_START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    sys.exit("The identity provider did not start; see its provider.log")


def _browser() -> str | None:
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if program and shutil.which("node") and shutil.which("npm"):
        return program
    print("skipped: oidc-provider and samlp need node (20 or later), npm and Chromium.")
    return None


def _install_provider(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for file in (HERE / folder.name).iterdir():
        shutil.copy(file, folder)
    _run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=folder)
    return folder


def _install_tester(folder: Path) -> Path:
    """Install scim2-tester into an empty environment, and return that environment's Python."""
    shutil.rmtree(folder, ignore_errors=True)
    python = folder / "bin" / "python"
    _run([*_UV, "venv", "--quiet", "--python", sys.executable, str(folder)])
    requirements = str(HERE / "scim" / "requirements.txt")
    _run([*_UV, "pip", "install", "--quiet", "--python", str(python), "--require-hashes", "-r", requirements])
    return python


def _run(command: list[str], cwd: Path | None = None) -> None:
    if subprocess.run(command, cwd=cwd, timeout=_MAX_SECONDS).returncode:
        sys.exit(f"not installed; check the network: {' '.join(command)}")


if __name__ == "__main__":
    sys.exit(main())
