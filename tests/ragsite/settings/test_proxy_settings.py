"""A proxy that RAG_TRUSTED_PROXIES does not name is reported: all clients would share one address."""

from typing import Any

import pytest
from django.core.checks import Tags, run_checks
from django.test import RequestFactory
from structlog.testing import capture_logs

from ragsite.http import addresses as module
from ragsite.http.addresses import client_address

_HTTPS_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")


@pytest.mark.parametrize(
    ("header", "proxies", "is_reported"),
    [(_HTTPS_HEADER, [], True), (_HTTPS_HEADER, ["192.0.2.1/32"], False), (None, [], False)],
)
def test_a_proxy_that_is_not_named_is_reported(settings: Any, header: Any, proxies: Any, is_reported: bool) -> None:
    settings.SECURE_PROXY_SSL_HEADER, settings.RAG_TRUSTED_PROXIES = header, proxies
    messages = run_checks(tags=[Tags.security], include_deployment_checks=True)
    assert ("ragsite.W002" in [message.id for message in messages]) == is_reported
    assert "ragsite.W002" not in [message.id for message in run_checks(tags=[Tags.security])], "only with --deploy"


def test_a_forwarded_address_that_is_ignored_is_logged_once(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.RAG_TRUSTED_PROXIES = ["192.0.2.1/32"]
    monkeypatch.setattr(module, "_has_warned", False)

    def send(peer: str, forwarded_for: str = "") -> str:
        headers = {"X-Forwarded-For": forwarded_for} if forwarded_for else {}
        return str(client_address(RequestFactory().get("/", headers=headers, REMOTE_ADDR=peer)))

    with capture_logs() as logs:
        assert send("192.0.2.9") == "192.0.2.9"
        assert send("192.0.2.1", "198.51.100.1") == "198.51.100.1"
        assert logs == []
        for _ in range(3):
            assert send("192.0.2.9", "198.51.100.1") == "192.0.2.9"
    [entry] = logs
    assert (entry["event"], entry["log_level"], entry["peer"]) == ("forwarded_for_ignored", "warning", "192.0.2.9")
    assert "198.51.100.1" not in str(entry)
