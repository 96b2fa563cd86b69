"""haproxy.cfg: it notices servers that stop, and redirects no credential."""

import re
import shutil
import subprocess

from django.urls import resolve

from tests.docs.project import ROOT

from .deployment_files import DEPLOY


def test_the_proxy_notices_a_server_that_stops_while_it_drains() -> None:
    """The proxy's check fails twice within the shortest documented time, and the proxy repeats refused requests."""
    text = (DEPLOY / "haproxy.cfg").read_text()
    check = re.search(r"http-check send meth GET uri (\S+) ", text)
    assert check
    assert resolve(check[1])
    interval, fall = (int(value) for value in re.findall(r" inter (\d+)s .*?fall (\d+)", text)[0])
    page = (ROOT / "docs/operations/scale.md").read_text()
    drain = re.search(r"`RAG_DRAIN_SECONDS=(\d+)`", page)
    assert drain
    assert int(drain[1]) > interval * fall
    assert "retry-on conn-failure" in text
    assert "option redispatch" in text
    if program := shutil.which("haproxy"):
        without_certificate = text.replace(" ssl crt /etc/haproxy/ragsite.pem alpn h2,http/1.1", "")
        result = subprocess.run([program, "-c", "-f", "/dev/stdin"], input=without_certificate, text=True)
        assert result.returncode == 0


def test_the_proxy_redirects_no_credential() -> None:
    """A client that is sent on to HTTPS does not notice that others could read its key."""
    text = (DEPLOY / "haproxy.cfg").read_text()
    denied = re.findall(r"acl has_credential req\.hdr\((\S+)\) -m found", text)
    # The headers that orgs.authentication reads.
    assert denied == ["authorization", "x-api-key", "apikey"]
    assert text.index("deny_status 403 if has_credential") < text.index("http-request redirect")
