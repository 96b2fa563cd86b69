"""The identity provider of an organisation: its domains, its groups, and whom it has signed in.

Only sign-in and the admin read these tables (ragsite/postgres/grants.sql).
"""

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext

from accounts.audit.tracking import TrackedModelMixin, TrackedQuerySet
from ragsite.postgres import identity
from ragsite.postgres.credential_fields import HiddenTextField
from ragsite.postgres.models import UUIDModel

from .organizations import Organization, Role, Team

MAX_SUBJECT_CHARACTERS = 255
_DOMAIN = RegexValidator(r"\A(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}\Z", "Such as example.com.")


class Protocol(models.TextChoices):
    OPENID_CONNECT = "openid", "OpenID Connect"
    SAML = "saml", "SAML 2.0"


class IdentityProvider(TrackedModelMixin, UUIDModel):
    """The provider with which the members of an organisation sign in.

    Attributes:
        issuer: With SAML, its entity id.
        client_id: With OpenID Connect only.
        client_secret: Encrypted (ragsite.postgres.encryption). With SAML, our key for this provider.
        groups_claim: The claim, or attribute, that lists a person's groups.
        sign_in_url: With SAML only, as the next three: what its metadata says.
        sign_out_response_url: Where the provider expects responses to its sign-outs, if not at `sign_out_url`.
        certificates: In PEM.
        is_enforced: Members sign in with the provider only, and not with a password.
        emergency_user: The member who may use a password nevertheless, for when the provider fails.
    """

    organization = models.OneToOneField(
        Organization, models.CASCADE, related_name="identity_provider", verbose_name="organisation"
    )
    name = models.CharField(max_length=60, help_text="What people call it: Okta, Entra ID, Keycloak.")
    protocol = models.CharField(max_length=10, choices=Protocol.choices, default=Protocol.OPENID_CONNECT)
    issuer = models.CharField(
        max_length=500, blank=True, help_text="Its address, to which /.well-known/openid-configuration is added."
    )
    client_id = models.CharField("client id", max_length=255, blank=True)
    client_secret = HiddenTextField(editable=False, read_as=identity.SIGN_IN)
    groups_claim = models.CharField(max_length=255, default="groups")
    sign_in_url = models.CharField(max_length=500, blank=True, editable=False)
    sign_out_url = models.CharField(max_length=500, blank=True, editable=False)
    sign_out_response_url = models.CharField(max_length=500, blank=True, default="", db_default="", editable=False)
    certificates = models.TextField(blank=True, editable=False)
    is_active = models.BooleanField(default=True)
    is_enforced = models.BooleanField(
        "enforced", default=False, help_text="Members sign in with the provider only. API keys keep working."
    )
    emergency_user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name="emergency account",
        help_text="May sign in with a password when single sign-on is enforced and the provider fails.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TrackedQuerySet["IdentityProvider"].as_manager()

    class Meta:
        ordering = ("organization",)

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Check that somebody can sign in if an enforced provider fails.

        Raises:
            ValidationError: There is no emergency account that could sign in with a password.
        """
        super().clean()
        if self.protocol == Protocol.OPENID_CONNECT:  # a SAML provider's name is compared as it is
            self.issuer = self.issuer.strip().rstrip("/")
        if not self.is_enforced:
            return
        user = self.emergency_user
        if user is None or not user.is_active or not user.has_usable_password():
            raise ValidationError({"emergency_user": gettext("Choose an active account that has a password.")})
        if not self.organization.memberships.filter(user=user, is_active=True).exists():
            raise ValidationError({"emergency_user": gettext("Choose an active member of the organisation.")})


class SignInDomain(TrackedModelMixin, UUIDModel):
    """A domain of e-mail addresses whose people the provider may sign in, once a superuser has verified it."""

    organization = models.ForeignKey(
        Organization, models.CASCADE, related_name="sign_in_domains", verbose_name="organisation"
    )
    domain = models.CharField(max_length=253, validators=[_DOMAIN])
    verified_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = TrackedQuerySet["SignInDomain"].as_manager()

    class Meta:
        ordering = ("domain",)
        constraints = (
            models.UniqueConstraint(fields=["organization", "domain"], name="sign_in_domain_in_organization"),
            models.UniqueConstraint(
                fields=["domain"], condition=Q(verified_at__isnull=False), name="verified_domain_of_one_organization"
            ),
        )

    def __str__(self) -> str:
        return self.domain


class GroupMapping(TrackedModelMixin, UUIDModel):
    """What the members of a provider's group get: a role, a team, or both."""

    provider = models.ForeignKey(IdentityProvider, models.CASCADE, related_name="group_mappings")
    group = models.CharField(max_length=255, help_text="As the provider names it in the claim.")
    role = models.ForeignKey(Role, models.CASCADE, null=True, blank=True, related_name="+")
    team = models.ForeignKey(Team, models.CASCADE, null=True, blank=True, related_name="+")

    objects = TrackedQuerySet["GroupMapping"].as_manager()

    class Meta:
        ordering = ("group",)
        constraints = (models.UniqueConstraint(fields=["provider", "group"], name="group_of_a_provider"),)

    def __str__(self) -> str:
        return self.group

    def clean(self) -> None:
        """Check that the role and the team belong to the provider's organisation.

        Raises:
            ValidationError: One of them does not, or neither is chosen.
        """
        super().clean()
        if self.role is None and self.team is None:
            raise ValidationError(gettext("Choose a role, a team, or both."))
        for field, row in (("role", self.role), ("team", self.team)):
            if row is not None and row.organization_id != self.provider.organization_id:
                raise ValidationError({field: gettext("It belongs to another organisation.")})


class LinkedIdentity(TrackedModelMixin, UUIDModel):
    """An account of a provider, and the account here that it signs in.

    An account here belongs to one account of a provider: if the address is given to somebody else there, they do not
    get the account of the person who had it before.
    """

    provider = models.ForeignKey(IdentityProvider, models.CASCADE, related_name="identities")
    subject = models.CharField("identifier at the provider", max_length=MAX_SUBJECT_CHARACTERS)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="linked_identities")
    created_at = models.DateTimeField("since", auto_now_add=True)

    objects = TrackedQuerySet["LinkedIdentity"].as_manager()

    class Meta:
        verbose_name = "linked account"
        ordering = ("-pk",)
        constraints = (
            models.UniqueConstraint(fields=["provider", "subject"], name="subject_of_a_provider"),
            models.UniqueConstraint(fields=["provider", "user"], name="one_account_of_a_provider"),
        )

    def __str__(self) -> str:
        return self.subject


class UsedAssertion(UUIDModel):
    """An assertion of a SAML provider that has signed somebody in, until it would be too old to be used again."""

    provider = models.ForeignKey(IdentityProvider, models.CASCADE, related_name="used_assertions")
    assertion_id = models.CharField(max_length=MAX_SUBJECT_CHARACTERS)
    expires_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["provider", "assertion_id"], name="assertion_used_once"),)
