"""What every page must be: accessible in both themes, and no wider than the window. The same thing is checked once."""

from pathlib import Path
from typing import Any

import axe_playwright_python
from playwright.sync_api import Page, ViewportSize

_AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
_CHECK_PAGE = Path(__file__).with_name("axe_violations.js").read_text()
_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
_COLOUR_RULES = ["color-contrast", "link-in-text-block"]  # in the dark only colours differ
# They are on every page. Whatever names or describes what is in such a part is in it too.
_PARTS = "header, footer, #nav-sidebar tr"
DESKTOP, PHONE = ViewportSize(width=1280, height=900), ViewportSize(width=390, height=844)

# Colours that change slowly would be measured on their way. A style sheet of the document is not an inline style.
_STOP_TRANSITIONS = """
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("*, *::before, *::after { transition: none !important; animation: none !important }");
  document.adoptedStyleSheets.push(sheet);
"""
_CUT_OFF = """() => [...document.querySelectorAll("body *")]
  .filter((box) => ["auto", "scroll", "hidden"].includes(getComputedStyle(box).overflowX))
  .filter((box) => !box.matches("pre, textarea, select, input, button, .visually-hidden, .account-name"))
  .filter((box) => box.clientWidth > 1 && box.scrollWidth > box.clientWidth + 1)
  .map((box) => `${box.tagName} ${box.id} ${box.className}: ${box.scrollWidth} in ${box.clientWidth}`)"""


class PageChecks:
    """Checks pages, and knows what was right on those before."""

    def __init__(self) -> None:
        self._colours: set[str] = set()
        self._parts: set[str] = set()

    def check(self, page: Page) -> list[str]:
        """What is wrong with the page that is open, in the light theme and with the size of a desktop."""
        page.wait_for_load_state("load")  # without its style sheets a page looks different
        page.evaluate(f"(() => {{ {_STOP_TRANSITIONS} }})(); {_AXE}")
        wrong = self._violations(page, theme="light")
        wrong += [f"cut off at 1280: {text}" for text in page.evaluate(_CUT_OFF)]
        page.emulate_media(color_scheme="dark")
        wrong += self._violations(page, theme="dark")
        page.emulate_media(color_scheme="light")
        page.set_viewport_size(PHONE)
        if (width := page.evaluate("document.documentElement.scrollWidth")) > PHONE["width"]:
            wrong.append(f"{width} wide on a phone")
        page.set_viewport_size(DESKTOP)
        return wrong

    def _violations(self, page: Page, *, theme: str) -> list[str]:
        known = {"knownColours": [*self._colours], "knownParts": [*self._parts]}
        rules = {"tags": _TAGS, "colourRules": _COLOUR_RULES, "partSelector": _PARTS}
        result: dict[str, Any] = page.evaluate(_CHECK_PAGE, {"theme": theme, **rules, **known})
        self._colours.update(result["colours"])
        self._parts.update(result["parts"])
        return list(result["wrong"])
