"""The fields of an explanation of access (docs/contracts/pipeline.md)."""

from collections.abc import Sequence
from typing import Annotated, TypedDict

from rest_framework import serializers

from accounts.models import MAX_EMAIL_CHARACTERS
from rag.contracts.common import fields
from rag.models import DataSource
from rag.services.access.explain_access import ACTIONS, Verdict
from ragsite.http.openapi.field_types import Id


class AccessIn(serializers.Serializer[None]):
    """The query parameters. `user`: id or e-mail address."""

    user = fields.Text("user", max_length=MAX_EMAIL_CHARACTERS)


class VerdictOut(TypedDict):
    action: Annotated[str, {"enum": [action.value for action in ACTIONS]}]
    allowed: bool
    reason: str


class AccessOut(TypedDict):
    """`user`: as in the request."""

    dataSourceId: Id
    user: str
    access: list[VerdictOut]


def access_out(source: DataSource, user: str, verdicts: Sequence[Verdict]) -> AccessOut:
    return {"dataSourceId": str(source.pk), "user": user, "access": verdicts_out(verdicts)}


def verdicts_out(verdicts: Sequence[Verdict]) -> list[VerdictOut]:
    return [
        {"action": verdict.action.value, "allowed": verdict.is_allowed, "reason": verdict.reason}
        for verdict in verdicts
    ]
