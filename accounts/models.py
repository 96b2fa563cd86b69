"""Users, known by their e-mail address."""

import uuid
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone

from ragsite.db import UUIDModel

from .audit import AuditEvent as AuditEvent
from .watch import Watched


class UserManager(BaseUserManager["User"]):
    def get_by_natural_key(self, username: str | None) -> "User":
        """Addresses are compared without regard to case, as mail systems do."""
        return self.get(email=self.normalize_email(username))

    @classmethod
    def normalize_email(cls, email: str | None) -> str:
        return (email or "").strip().lower()

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Raises ValueError without an address. Without a password the account cannot sign in by password."""
        if not self.normalize_email(email):
            raise ValueError("A user needs an e-mail address.")
        user = self.model(email=self.normalize_email(email), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        return self.create_user(email, password, **{**fields, "is_staff": True, "is_superuser": True})


class User(Watched, UUIDModel, AbstractBaseUser, PermissionsMixin):
    """A person or a service account. What they may do is decided by their memberships (orgs.Membership)."""

    email = models.EmailField(max_length=254, unique=True)
    name = models.CharField(max_length=150, blank=True)
    is_staff = models.BooleanField("may open the admin", default=False)
    is_active = models.BooleanField(
        default=True, help_text="Switch off instead of deleting: every credential stops working at once."
    )
    date_joined = models.DateTimeField(default=timezone.now, editable=False)

    # The API key that this request came with, which narrows what the user may do (orgs.access). Not stored.
    acting_by: uuid.UUID | None = None

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        ordering = ("email",)
        constraints = (
            models.CheckConstraint(condition=models.Q(email=Lower("email")), name="user_email_is_lower_case"),
        )

    def __str__(self) -> str:
        return self.email

    def clean(self) -> None:
        super().clean()
        self.email = type(self).objects.normalize_email(self.email)
