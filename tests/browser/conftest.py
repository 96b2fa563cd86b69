"""One Chromium for the tests of the pages. Without one they are skipped: see `browser`."""

import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from django.test import Client
from playwright.sync_api import Browser, expect, sync_playwright
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from tests.support.factories import World

from .site import Site
from .visitor import Visitor

PROGRAM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if PROGRAM is None:
        pytest.skip("no Chromium on this machine: install Debian's package chromium, or name it in CHROMIUM")
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Playwright keeps an event loop in this thread, in which Django would refuse to use the database.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        expect.set_options(timeout=30_000)
        browser = playwright.chromium.launch(executable_path=PROGRAM)
        yield browser
        browser.close()


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Two lines for each of hundreds of requests would take longer than some of the pages."""
    caplog.set_level(logging.WARNING)


@pytest.fixture
def site(browser: Browser, live_server: LiveServer, live_world: World) -> Site:
    """The running product with data of every kind. It asks for the browser first, so that nothing is made without."""
    return Site.create(live_world)


@pytest.fixture
def visitor(browser: Browser, live_server: LiveServer) -> Iterator[Callable[..., Visitor]]:
    """visitor() has not signed in; visitor(user) has a session of this user. Its problems fail the test."""
    with ExitStack() as stack:

        def create(user: User | None = None) -> Visitor:
            visitor = stack.enter_context(Visitor.at(browser, live_server.url))
            if user:
                client = Client()
                client.force_login(user)
                visitor.use_session(client.cookies["sessionid"].value)
            return visitor

        yield create
