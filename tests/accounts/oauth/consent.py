"""A person's decision on the consent page of OAuth, over HTTP."""

import html
import re
from urllib.parse import urljoin

import httpx2


def decide_over_http(url: str, session_key: str, decision: str = "allow") -> str:
    """Decide as a browser with this session would, and return the address to which it is sent."""
    with httpx2.Client(cookies={"sessionid": session_key}, timeout=60) as browser:
        page = browser.get(url)
        assert page.status_code == 200, page.text
        (token,) = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)[-1:]
        (action,) = re.findall(r'<form method="post" action="([^"]+oauth[^"]+)"', page.text)
        form = {"csrfmiddlewaretoken": token, "decision": decision}
        reply = browser.post(urljoin(url, html.unescape(action)), data=form)
    (address,) = re.findall(r'content="0; url=([^"]+)"', reply.text)
    return html.unescape(address)
