"""A person at a browser. What no page may do is recorded and fails the test: errors, and requests to other machines."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import axe_playwright_python
from playwright.sync_api import Browser, BrowserContext, Page, Response, ViewportSize

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
DESKTOP, PHONE = ViewportSize(width=1280, height=900), ViewportSize(width=390, height=844)

# Colours that change slowly would be measured on their way. A style sheet of the document is not an inline style.
_STOP_TRANSITIONS = """() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("*, *::before, *::after { transition: none !important; animation: none !important }");
  document.adoptedStyleSheets.push(sheet);
}"""
_RUN_AXE = """async (options) => {
  const result = await axe.run(document, options);
  return result.violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 160)}`));
}"""
_CUT_OFF = """() => [...document.querySelectorAll("body *")]
  .filter((box) => ["auto", "scroll", "hidden"].includes(getComputedStyle(box).overflowX))
  .filter((box) => !box.matches("pre, textarea, select, input, button, .visually-hidden, .account-name"))
  .filter((box) => box.clientWidth > 1 && box.scrollWidth > box.clientWidth + 1)
  .map((box) => `${box.tagName} ${box.id} ${box.className}: ${box.scrollWidth} in ${box.clientWidth}`)"""


@dataclass
class Visitor:
    context: BrowserContext
    page: Page
    url: str
    problems: list[str] = field(default_factory=list)

    @classmethod
    @contextmanager
    def at(cls, browser: Browser, url: str) -> Iterator["Visitor"]:
        context = browser.new_context(base_url=url, viewport=DESKTOP, color_scheme="light", reduced_motion="reduce")
        context.set_default_timeout(30_000)
        visitor = cls(context, context.new_page(), url)
        visitor._listen()
        try:
            yield visitor
        finally:
            context.close()
        assert not visitor.problems, "\n".join(visitor.problems)

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

    def use_session(self, key: str) -> None:
        self.context.add_cookies([{"name": "sessionid", "value": key, "url": self.url}])

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
        self.page.evaluate(_STOP_TRANSITIONS)
        self.page.evaluate(AXE)
        wrong = self._violations(light=True) + self._violations(light=False)
        wrong += [f"cut off at 1280: {text}" for text in self.page.evaluate(_CUT_OFF)]
        self.page.set_viewport_size(PHONE)
        if (width := self.page.evaluate("document.documentElement.scrollWidth")) > PHONE["width"]:
            wrong.append(f"{width} wide on a phone")
        self.page.set_viewport_size(DESKTOP)
        return wrong

    def _violations(self, *, light: bool) -> list[str]:
        """In the dark only colours differ."""
        options: dict[str, Any] = {"runOnly": RULES, "resultTypes": ["violations"], "preload": False}
        if not light:
            options["runOnly"] = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
        self.page.emulate_media(color_scheme="light" if light else "dark")
        theme = "light" if light else "dark"
        violations = [f"{theme}: {text}" for text in self.page.evaluate(_RUN_AXE, options)]
        self.page.emulate_media(color_scheme="light")
        return violations
