"""What a browser does when somebody signs in by an OpenID Connect provider."""

import html
import re
import urllib.error
import urllib.request
from typing import Any

from django.test import Client

from tests.orgs.single_sign_on.conftest import EMAIL


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **options: Any) -> None:
        return None


def begin(browser: Client, email: str = EMAIL) -> str:
    """Begin a sign-in, go to the provider, and return the address to which it sends the browser back."""
    page = browser.post("/sign-in/organization", {"email": email})
    assert page.status_code == 200, page.content
    (url,) = re.findall(r'<a href="(http://127[^"]+)"', page.content.decode())
    try:
        urllib.request.build_opener(_NoRedirect).open(html.unescape(url), timeout=30)
    except urllib.error.HTTPError as redirect:
        with redirect:
            return str(redirect.headers["Location"])
    raise AssertionError("The provider did not send the browser back.")


def sign_in(browser: Client, email: str = EMAIL) -> Any:
    return browser.get(begin(browser, email))
