"""When a stored credential was last used."""

import datetime

from django.db.models import Q
from django.utils import timezone

from orgs.models import ApiKey, ScimToken

# The precision of `last_used_at`, so that not every request causes a write.
_USE_INTERVAL = datetime.timedelta(minutes=1)


def record_use(credential: ApiKey | ScimToken) -> None:
    """Set `last_used_at`, at most once a minute for all processes together."""
    now = timezone.now()
    if credential.last_used_at is None or credential.last_used_at < now - _USE_INTERVAL:
        stale = Q(last_used_at=None) | Q(last_used_at__lt=now - _USE_INTERVAL)
        rows = ApiKey.objects if isinstance(credential, ApiKey) else ScimToken.objects
        rows.filter(stale, pk=credential.pk).update(last_used_at=now)
