"""What this app tells the audit trail: accounts, and who signed in, failed to, and signed out."""

from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.auth import user_logged_in, user_logged_out, user_login_failed
from django.db.models import Q, signals
from rest_framework.request import Request
from rest_framework_simplejwt.token_blacklist.models import OutstandingToken

from accounts.models import User

from . import events
from .events import Act, Kind
from .tracking import Watch, watch

_USER = Watch(
    Kind.USER,
    fields=("is_active", "is_staff", "is_superuser"),
    untold=("email", "name", "password"),
    label=lambda user: "",
    subject=lambda user: user,
)


def begin() -> None:
    """Called once, when the app is ready."""
    watch(User, _USER)
    signals.pre_delete.connect(_forget_tokens, sender=User, dispatch_uid="trail tokens")
    signals.post_delete.connect(_anonymise, sender=User, dispatch_uid="trail anonymise")
    user_logged_in.connect(_signed_in, dispatch_uid="trail in")
    user_logged_out.connect(_signed_out, dispatch_uid="trail out")
    user_login_failed.connect(_failed, dispatch_uid="trail failed")


def signed_in(user: User, how: str) -> None:
    events.record(Act.SIGNED_IN, Kind.USER, object_id=user.pk, subject=user, actor=user, after={"by": how})


def signed_out(user: User | None, how: str) -> None:
    key = user.pk if user else ""
    events.record(Act.SIGNED_OUT, Kind.USER, object_id=key, subject=user, actor=user, after={"by": how})


def _signed_in(user: User, request: Any = None, **_: Any) -> None:
    signed_in(user, "token" if isinstance(request, Request) else "session")


def _signed_out(user: User | None, **_: Any) -> None:
    if user:
        signed_out(user, "session")


def _failed(credentials: dict[str, Any], **_: Any) -> None:
    """What was typed is kept: it says whose account somebody tried, or that they tried many."""
    typed = str(credentials.get("email") or credentials.get("username") or "").replace("\0", "")
    user = User.objects.filter(email=User.objects.normalize_email(typed)[:254]).first()
    events.record(
        Act.SIGN_IN_FAILED, Kind.USER, object_id=user.pk if user else "", subject=user, subject_email=typed[:254]
    )


def _forget_tokens(instance: User, **_: Any) -> None:
    """They would stay without their user; what they say names them."""
    OutstandingToken.objects.filter(user=instance).delete()


def _anonymise(instance: User, **_: Any) -> None:
    """In the audit trail, and in what the admin's own history tells beside it."""
    events.anonymise(instance.pk)
    named = LogEntry.objects.filter(
        Q(object_repr__icontains=instance.email) | Q(change_message__icontains=instance.email)
    )
    named.update(object_repr=events.pseudonym(instance.pk), change_message="")
