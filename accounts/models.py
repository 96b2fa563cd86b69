"""User accounts, identified by their e-mail address."""

import contextlib
import re
import unicodedata
from typing import ClassVar

import idna
from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import models
from django.db.models.functions import MD5, Lower, Upper
from django.utils import timezone
from django.utils.translation import gettext

from ragsite.postgres import identity
from ragsite.postgres.credential_fields import HiddenCharField
from ragsite.postgres.models import UUIDModel

from .audit.events import MAX_EMAIL_CHARACTERS as MAX_EMAIL_CHARACTERS
from .audit.events import AuditEvent as AuditEvent
from .audit.tracking import TrackedModelMixin

MAX_NAME_CHARACTERS = 150
_MAX_NORMALIZED_CHARACTERS = 1_000
_PLAIN = re.compile(r"[!-~]+")


class UserManager(BaseUserManager["User"]):
    """Creates accounts and finds them by their normalised address."""

    def get_by_natural_key(self, username: str | None) -> "User":
        """Find a user by address. Case is ignored, as mail systems do."""
        return self.get(email=self.normalize_email(username))

    @classmethod
    def normalize_email(cls, email: str | None) -> str:
        """Return the canonical spelling of an e-mail address: Unicode NFKC, lower case, an IDNA 2008 domain (xn--…).

        Characters outside of ASCII that remain make the address invalid. A text that is too long for an address is
        returned as it is: with the square of its length grows the time of NFKC, in which no other thread runs.
        """
        if email and len(email) > _MAX_NORMALIZED_CHARACTERS:
            return email
        name, _, domain = unicodedata.normalize("NFKC", email or "").strip().lower().rpartition("@")
        with contextlib.suppress(UnicodeError):
            # Python's own codec knows the rules of 2003 only, by which straße.example is strasse.example.
            domain = idna.encode(domain, uts46=True).decode() if not domain.isascii() else domain
        return f"{name}@{domain}" if name else domain

    @classmethod
    def is_address(cls, email: str) -> bool:
        """Return whether a normalised text is one address of an account, and not a list or a quotation of addresses.

        The domain after the last @ of a list says nothing about whom its messages reach.
        """
        try:
            validate_email(email)
        except ValidationError:
            return False
        return _PLAIN.fullmatch(email) is not None and email.count("@") == 1

    @classmethod
    def displayable_name(cls, name: str) -> str:
        """Return a person's name as it can be shown and stored: with spaces for unprintable characters.

        These are line ends, and controls of the direction of writing and of terminals.
        """
        displayable = "".join(character if character.isprintable() else " " for character in name)
        return " ".join(displayable.split())[:MAX_NAME_CHARACTERS]

    def create_user(self, email: str, password: str | None = None, **fields: object) -> "User":
        """Create an account. Without a password it cannot sign in.

        Raises:
            ValueError: The address is invalid.
        """
        if not self.is_address(self.normalize_email(email)):
            raise ValueError("A user needs an e-mail address, of Latin letters without accents before the @.")
        user = self.model(email=self.normalize_email(email), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: object) -> "User":
        """Create an account that may open the admin and manages all organisations."""
        return self.create_user(email, password, **{**fields, "is_staff": True, "is_superuser": True})


class User(TrackedModelMixin, UUIDModel, AbstractBaseUser, PermissionsMixin):
    """A person or a service account. Its memberships in organisations decide what it may do."""

    # Only sign-in may read it.
    password = HiddenCharField("password", max_length=128, read_as=identity.SIGN_IN)
    email = models.EmailField(max_length=MAX_EMAIL_CHARACTERS, unique=True)
    name = models.CharField(max_length=MAX_NAME_CHARACTERS, blank=True)
    is_staff = models.BooleanField("may open the admin", default=False)
    is_active = models.BooleanField(
        default=True, help_text="Switch off instead of deleting: every credential stops working at once."
    )
    # The organisation whose directory has deactivated the account, and may activate it again. The database empties it
    # when the account is activated, whoever does so.
    deactivated_by_directory = models.UUIDField(null=True, editable=False)
    # When all sign-ins of the account ended at once. Earlier sessions and tokens are refused.
    signed_out_at = models.DateTimeField(null=True, editable=False)
    date_joined = models.DateTimeField(default=timezone.now, editable=False)
    # Changes with the password. Access tokens contain it, and end when it changes.
    password_digest = models.GeneratedField(
        expression=Upper(MD5("password")), output_field=models.CharField(max_length=32), db_persist=True
    )

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        ordering = ("email",)
        constraints = (
            models.CheckConstraint(condition=models.Q(email=Lower("email")), name="user_email_is_lower_case"),
            # No two addresses differ only in characters that look the same.
            models.CheckConstraint(condition=models.Q(email__regex=r"^[!-~]+$"), name="user_email_is_ascii"),
        )

    def __str__(self) -> str:
        return self.email

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """Return what a session depends on: the password, and the last time at which all sign-ins ended."""
        digest: str = super()._get_session_auth_hash(secret=secret)  # type: ignore[misc]  # the stubs lack it
        return digest if self.signed_out_at is None else f"{digest} {self.signed_out_at.timestamp()}"

    def clean(self) -> None:
        super().clean()
        self.email = type(self).objects.normalize_email(self.email)
        if not type(self).objects.is_address(self.email):
            raise ValidationError({"email": gettext("Latin letters without accents before the @, and no white space.")})


class OAuthClient(UUIDModel):
    """A program that people allow to act for them (accounts.oauth). It registered itself and has no secret.

    Attributes:
        name: What the program calls itself. Nobody has checked it.
        redirect_uris: The addresses to which authorization codes are sent.
        last_used_at: When somebody last allowed it to act for them. None if nobody has.
    """

    name = models.CharField(max_length=100)
    redirect_uris = ArrayField(models.CharField(max_length=500))
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    last_used_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        verbose_name = "OAuth client"

    def __str__(self) -> str:
        return self.name


class OAuthCode(UUIDModel):
    """An authorization code: what somebody has allowed, until the client exchanges it for tokens.

    Attributes:
        hash: SHA-256 of the code, which has 256 random bits.
        challenge: What the client's verifier must hash to (PKCE).
        by_password: The session in which it was allowed began with a password, and not with an identity provider.
        password_digest: That of the person when they allowed it. A new password ends the code.
        family: The tokens that the code was exchanged for. If it is sent again, they end.
    """

    hash = HiddenCharField(max_length=64, unique=True, editable=False)
    client = models.ForeignKey(OAuthClient, on_delete=models.CASCADE, related_name="codes")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="oauth_codes")
    redirect_uri = models.CharField(max_length=500)
    challenge = models.CharField(max_length=43)
    resource = models.CharField(max_length=500)
    by_password = models.BooleanField()
    password_digest = models.CharField(max_length=32, editable=False)
    expires_at = models.DateTimeField(db_index=True)
    family = models.UUIDField(null=True)

    class Meta:
        verbose_name = "OAuth authorization code"


class TokenFamily(UUIDModel):
    """The refresh tokens of one sign-in (accounts.sign_in.refresh_tokens). The row is deleted when they end.

    Attributes:
        id: The id (`jti`) of the first token.
        client: The program that acts for the user with these tokens. None for tokens of POST /api/auth/token.
        newest_token: The id of the only token that is still valid.
        expires_at: When that token expires.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="token_families")
    client = models.ForeignKey(OAuthClient, on_delete=models.CASCADE, related_name="token_families", null=True)
    newest_token = models.UUIDField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name_plural = "token families"
