"""Deletes what sign-ins have left behind and nobody can use any more."""

import datetime

import structlog
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import Model
from django.utils import timezone

from accounts.models import TokenFamily

logger = structlog.get_logger(__name__)

_BATCH_SIZE = 1_000
# Failed sign-ins are shown in the admin for some time after they stop to count.
_ATTEMPTS_KEPT = datetime.timedelta(days=30)


def delete_expired_sign_ins() -> None:
    """Delete expired sessions and refresh tokens, and failed sign-ins that no longer count."""
    now = timezone.now()
    expired: dict[type[Model], dict[str, object]] = {
        Session: {"expire_date__lt": now},
        TokenFamily: {"expires_at__lt": now},
        AccessAttempt: {"attempt_time__lt": now - max(settings.AXES_COOLOFF_TIME, _ATTEMPTS_KEPT)},
    }
    for model, conditions in expired.items():
        rows = model._default_manager.filter(**conditions).order_by("pk").values_list("pk", flat=True)
        deleted = 0
        while ids := list(rows[:_BATCH_SIZE]):
            model._default_manager.filter(pk__in=ids).delete()
            deleted += len(ids)
        logger.info("sign_ins_deleted", model=model._meta.label, rows=deleted)
