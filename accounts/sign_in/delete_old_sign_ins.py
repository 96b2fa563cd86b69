"""Deletes what sign-ins have left behind and nobody can use any more."""

import datetime

import structlog
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import Model
from django.utils import timezone

from accounts.models import OAuthClient, OAuthCode, TokenFamily

logger = structlog.get_logger(__name__)

_BATCH_SIZE = 1_000
# Failed sign-ins are shown in the admin for some time after they stop to count.
_ATTEMPTS_KEPT = datetime.timedelta(days=30)
# Anybody may register a client. One that nobody has allowed anything is soon deleted.
_UNUSED_CLIENTS_KEPT = datetime.timedelta(days=1)
_CLIENTS_KEPT = datetime.timedelta(days=30)


def delete_expired_sign_ins() -> None:
    """Delete expired sessions and tokens, failed sign-ins that no longer count, and clients that nobody uses."""
    now = timezone.now()
    expired: list[tuple[type[Model], dict[str, object]]] = [
        (Session, {"expire_date__lt": now}),
        (TokenFamily, {"expires_at__lt": now}),
        (AccessAttempt, {"attempt_time__lt": now - max(settings.AXES_COOLOFF_TIME, _ATTEMPTS_KEPT)}),
        (OAuthCode, {"expires_at__lt": now - _UNUSED_CLIENTS_KEPT}),
        (OAuthClient, {"last_used_at": None, "created_at__lt": now - _UNUSED_CLIENTS_KEPT}),
        (OAuthClient, {"token_families": None, "last_used_at__lt": now - _CLIENTS_KEPT}),
    ]
    for model, conditions in expired:
        rows = model._default_manager.filter(**conditions).order_by("pk").values_list("pk", flat=True)
        deleted = 0
        while ids := list(rows[:_BATCH_SIZE]):
            model._default_manager.filter(pk__in=ids).delete()
            deleted += len(ids)
        logger.info("sign_ins_deleted", model=model._meta.label, rows=deleted)
