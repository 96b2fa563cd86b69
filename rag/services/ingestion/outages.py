"""Embedding models that do not answer: how long they are left alone, and who finds out that they are back.

One row for all workers (rag.models.ModelOutage), so that ten thousand documents of a dead endpoint cost it one request
a pause, and not one each.
"""

import datetime
import random
import uuid

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from rag.models import ModelOutage

logger = structlog.get_logger(__name__)

# Seconds: the first pause, the longest one of our own, and the longest that a provider may ask for.
_FIRST, _LONGEST, _LONGEST_ASKED = 10.0, 240.0, 3600.0
# A pause is up to half longer than its length, so that not everything comes back at once.
_SPREAD = 0.5


def pause(times: int, *, asked: float | None = None) -> datetime.timedelta:
    """After so many refusals (from 1) in a row: 10 s, 20 s, 40 s … 4 minutes, each up to half longer, and not less
    than the provider asked for (Retry-After), of which an hour is believed."""
    own = _length(times) * random.uniform(1, 1 + _SPREAD)
    return datetime.timedelta(seconds=max(own, min(asked or 0.0, _LONGEST_ASKED)))


def patience() -> datetime.timedelta:
    """How long an outage is waited out: the pauses between RAG_MAX_OUTAGES refusals, as they are in the mean."""
    pauses = sum(_length(times) for times in range(1, settings.RAG_MAX_OUTAGES))
    return datetime.timedelta(seconds=pauses * (1 + _SPREAD / 2))


def _length(times: int) -> float:
    return min(_FIRST * 2.0 ** min(times - 1, 16), _LONGEST)


@transaction.atomic
def begin(model_id: uuid.UUID, *, document: uuid.UUID, asked: float | None) -> None:
    """The model refused this document. Those that were under way together count as one refusal."""
    now = timezone.now()
    first = {"since": now, "until": now + pause(1, asked=asked)}
    outage, new = ModelOutage.objects.select_for_update().get_or_create(model_id=model_id, defaults=first)
    if new:
        logger.warning("embedding_outage_began", model=str(model_id))
        return
    if outage.until <= now or outage.probe == document:
        outage.tries += 1
        outage.until = now + pause(outage.tries, asked=asked)
        outage.probe = None
    else:
        outage.until = max(outage.until, now + datetime.timedelta(seconds=min(asked or 0.0, _LONGEST_ASKED)))
    outage.save(update_fields=["tries", "until", "probe"])


def end(model_id: uuid.UUID) -> None:
    """The model has answered."""
    if ModelOutage.objects.filter(model_id=model_id).delete()[0]:
        logger.info("embedding_outage_ended", model=str(model_id))


def pass_on(document: uuid.UUID) -> None:
    """If this document was taken to see whether its model answers: it did not come to ask; another one shall."""
    ModelOutage.objects.filter(probe=document).update(until=timezone.now(), probe=None)


def forget_old(now: datetime.datetime) -> None:
    """Of models that nothing was tried with for long: nobody knows how they fare now."""
    ModelOutage.objects.filter(until__lt=now - patience()).delete()
