"""One Chromium for the tests of the pages. Without one they are skipped: see `browser`."""

import logging
import os
import shutil
from collections.abc import Callable, Iterator

import pytest
from django.test import Client
from playwright.sync_api import Browser, expect, sync_playwright
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from tests.support.factories import World

from .page_checks import PageChecks
from .site import Site
from .visitor import Visitor

_PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser")  # the first takes least computing
PROGRAM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _PROGRAMS)), None)
# Each page runs its scripts once: compilers that make scripts faster would take longer than they save.
_ARGUMENTS = ["--js-flags=--no-opt,--no-maglev"]
# All pages are of one site, and a new process for each window would take longer than most pages.
_ARGUMENTS += ["--renderer-process-limit=1", "--process-per-site", "--disable-site-isolation-trials"]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if PROGRAM is None:
        pytest.skip("no Chromium on this machine: install Debian's package chromium, or name it in CHROMIUM")
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Playwright keeps an event loop in this thread, in which Django would refuse to use the database.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        expect.set_options(timeout=30_000)
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=_ARGUMENTS)
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


@pytest.fixture(scope="package")
def page_checks() -> PageChecks:
    """The checks of all pages of this folder: see PageChecks."""
    return PageChecks()


@pytest.fixture(scope="package")
def free_visitors() -> list[Visitor]:
    """Windows that nobody uses: a new one takes as much computing as five pages."""
    return []


@pytest.fixture
def visitor(
    browser: Browser, live_server: LiveServer, page_checks: PageChecks, free_visitors: list[Visitor]
) -> Iterator[Callable[..., Visitor]]:
    """visitor() has not signed in; visitor(user) has a session of this user. Its problems fail the test."""
    present = []

    def create(user: User | None = None) -> Visitor:
        visitor = free_visitors.pop() if free_visitors else Visitor.at(browser, live_server.url, page_checks)
        present.append(visitor)
        if user:
            client = Client()
            client.force_login(user)
            visitor.use_session(client)
        return visitor

    yield create
    problems = [problem for visitor in present for problem in visitor.leave()]
    free_visitors.extend(present)
    assert not problems, "\n".join(problems)
