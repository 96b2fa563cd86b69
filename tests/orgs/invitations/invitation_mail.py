"""What invitations send, and what the person who got one sends back."""

import re
from typing import Any

from django.core import mail
from django.test import Client

ADDRESS = "new.person@mail.example"


PAGE = "/admin/orgs/invitation/"


NEW_ACCOUNT: dict[str, Any] = {
    "name": "New Person",
    "password": "a quiet zebra at noon",
    "repeated": "a quiet zebra at noon",
}


def sent_token(number: int = -1) -> str:
    match = re.search(r"http://testserver/invitation\?token=(\S+)", str(mail.outbox[number].body))
    assert match
    return match[1]


def accept(token: str, client: Client | None = None, **fields: Any) -> Any:
    return (client or Client()).post("/invitation", {"token": token, **fields})
