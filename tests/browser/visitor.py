"""A person at a browser. What no page may do is recorded and fails the test: errors, and requests to other machines."""

import functools
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, Response, Route

from .page_checks import DESKTOP, PageChecks

# Scripts that ask the server again and again, and what they say of the pause, in milliseconds.
_PAUSES = {"live.js": "PAUSE = 3000", "operations.js": "INTERVAL_MS = 5000", "upload.js": "pause = 1500"}


@dataclass
class Visitor:
    context: BrowserContext
    page: Page
    url: str
    checks: PageChecks
    problems: list[str] = field(default_factory=list)

    @classmethod
    def at(cls, browser: Browser, url: str, checks: PageChecks) -> "Visitor":
        context = browser.new_context(base_url=url, viewport=DESKTOP, color_scheme="light", reduced_motion="reduce")
        context.set_default_timeout(30_000)
        visitor = cls(context, context.new_page(), url, checks)
        visitor._listen()
        return visitor

    def leave(self) -> list[str]:
        """Forget the person, so that another one can use the window. Returns what no page may do and one did."""
        self.page.unroute_all()
        if self._is_here(self.page.url):
            self.page.evaluate("localStorage.clear(); sessionStorage.clear()")
        self.page.goto("about:blank")
        self.page.emulate_media(color_scheme="light")
        self.page.set_viewport_size(DESKTOP)
        self.context.clear_cookies()
        problems, self.problems = self.problems, []
        return problems

    def _listen(self) -> None:
        self.page.on("console", lambda message: self._report("console", message.text, message.type == "error"))
        self.page.on("pageerror", lambda error: self._report("script", str(error)))
        self.page.on("request", lambda request: self._report("request", request.url, not self._is_here(request.url)))
        self.page.on(
            "response", lambda reply: self._report("reply", f"{reply.status} {reply.url}", reply.status >= 400)
        )

    def _report(self, kind: str, text: str, is_wrong: bool = True) -> None:
        if is_wrong:
            self.problems.append(f"{kind} on {self.page.url}: {text}")

    def _is_here(self, url: str) -> bool:
        return url.startswith((f"{self.url}/", "data:", "blob:"))

    def use_session(self, client: Client) -> None:
        """Be who has signed in with this client."""
        self.context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": self.url}])

    def shorten_pauses(self) -> None:
        """Let the scripts that follow what the server does ask ten times as often, until the visitor leaves."""
        for name, pause in _PAUSES.items():
            script = Path(settings.BASE_DIR, "static", "rag", name).read_text()
            assert script.count(f"{pause};") == 1, f"{name} has another pause"
            body = script.replace(f"{pause};", f"{pause.removesuffix('0')};")
            self.page.route(f"**/rag/{name}", functools.partial(_send_script, body=body))

    def open(self, path: str) -> Response | None:
        return self.page.goto(path)

    def sign_in(self, email: str, password: str) -> None:
        self.open("/sign-in")
        self.page.get_by_label("E-mail address").fill(email)
        self.page.get_by_label("Password").fill(password)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url("**/")

    def check_page(self) -> list[str]:
        """What is wrong with the page that is open: accessibility in both themes, and its widths."""
        return self.checks.check(self.page)


def _send_script(route: Route, *, body: str) -> None:
    route.fulfill(content_type="text/javascript", body=body)
