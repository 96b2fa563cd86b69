"""What the audit trail records about accounts: their changes, sign-ins, failed sign-ins and sign-outs."""

from django.contrib.admin.models import LogEntry
from django.contrib.auth import user_logged_in, user_logged_out, user_login_failed
from django.db.models import Q, signals
from rest_framework.request import Request
from rest_framework_simplejwt.utils import get_md5_hash_password

from accounts.models import User

from .audit import events
from .audit.events import AuditAction, AuditObject
from .audit.tracked_model import TrackedModel
from .audit.tracking import track


def _comparable(user: User, name: str) -> object:
    """Return the digest instead of the password.

    Only sign-in may read a password, over a connection that does not see what this transaction has written.
    """
    if name != "password":
        return getattr(user, name)
    return get_md5_hash_password(user.password) if "password" in user.__dict__ else user.password_digest


_USER = TrackedModel[User](
    AuditObject.USER,
    fields=("is_active", "is_staff", "is_superuser"),
    redacted=("email", "name", "password"),
    label=lambda user: "",
    subject=lambda user: user,
    comparable=_comparable,
)


def register() -> None:
    """Connect the audit trail. Called once, when the app is ready."""
    track(User, _USER)
    signals.post_delete.connect(_anonymize, sender=User, dispatch_uid="audit anonymize")
    user_logged_in.connect(_on_login, dispatch_uid="audit login")
    user_logged_out.connect(_on_logout, dispatch_uid="audit logout")
    user_login_failed.connect(_on_login_failed, dispatch_uid="audit login failed")


def record_sign_in(user: User, method: str) -> None:
    """Record a sign-in by this method (`session` or `token`)."""
    events.record(
        AuditAction.SIGNED_IN, AuditObject.USER, object_id=user.pk, subject=user, actor=user, after={"by": method}
    )


def record_sign_out(user: User, method: str) -> None:
    """Record a sign-out by this method (`session` or `token`)."""
    events.record(
        AuditAction.SIGNED_OUT, AuditObject.USER, object_id=user.pk, subject=user, actor=user, after={"by": method}
    )


def record_token_reuse(user: User) -> None:
    """Record that somebody sent a used refresh token of this user again. Who it was is not known."""
    events.record(AuditAction.TOKEN_REUSED, AuditObject.USER, object_id=user.pk, subject=user)


def _on_login(user: User, request: object = None, **_: object) -> None:
    record_sign_in(user, "token" if isinstance(request, Request) else "session")


def _on_logout(user: User | None, **_: object) -> None:
    if user:
        record_sign_out(user, "session")


def _on_login_failed(credentials: dict[str, str], **_: object) -> None:
    """Record a failed sign-in with the address as typed, because it shows which accounts somebody tries."""
    typed = str(credentials.get("email") or credentials.get("username") or "").replace("\0", "")
    email = User.objects.normalize_email(typed)[: events.MAX_EMAIL_CHARACTERS]
    user = User.objects.filter(email=email).first()
    events.record(
        AuditAction.SIGN_IN_FAILED,
        AuditObject.USER,
        object_id=user.pk if user else "",
        subject=user,
        subject_email=typed[: events.MAX_EMAIL_CHARACTERS],
    )


def _anonymize(instance: User, **_: object) -> None:
    """Replace the address in the audit trail and in the admin's own history."""
    events.anonymize(instance.pk)
    entries = LogEntry.objects.filter(
        Q(object_repr__icontains=instance.email) | Q(change_message__icontains=instance.email)
    )
    entries.update(object_repr=events.pseudonym_of(instance.pk), change_message="")
