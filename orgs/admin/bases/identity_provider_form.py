"""The form of an identity provider: OpenID Connect or SAML."""

import uuid
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from orgs.models import Organization, Protocol, SignInDomain
from orgs.single_sign_on import openid_connect
from orgs.single_sign_on.provider_requests import IdentityProviderFailed, Provider
from orgs.single_sign_on.saml import metadata, service_provider
from ragsite.postgres import encryption

_NO_DOMAIN = _(
    "First add the domain of your people's addresses on the page Sign-in domains, and let a superuser confirm it."
)
_REQUIRED = _("This field is required.")


class IdentityProviderForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at runtime
    """Asks an OpenID Connect provider to describe itself, reads the metadata of a SAML provider, shows no secret."""

    secret = forms.CharField(
        label=_("Client secret"),
        required=False,
        strip=True,
        max_length=1_000,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=_("Stored encrypted. Leave it empty to keep the current one."),
    )
    metadata = forms.CharField(
        label=_("Metadata"),
        required=False,
        max_length=metadata.MAX_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false"}),
        help_text=_("The provider's metadata: paste the XML document."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._stored_issuer = self.instance.issuer

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        if values.get("protocol", self.instance.protocol) == Protocol.SAML:
            self._read_metadata(values)
        else:
            self._complete_openid_connect(values)
        if values.get("is_enforced") and not self._has_verified_domain(self._organization_id(values)):
            self.add_error("is_enforced", _NO_DOMAIN)
        return values

    def _complete_openid_connect(self, values: dict[str, Any]) -> None:
        """Check the values, the issuer by its own description; normalise the issuer, and encrypt the secret."""
        for name in ("issuer", "client_id"):
            if not values.get(name) and name not in self.errors:
                self.add_error(name, _REQUIRED)
        if self.errors:
            return
        values["issuer"] = str(values["issuer"]).strip().rstrip("/")
        try:
            openid_connect.check_issuer(Provider(self._organization_id(values), values["issuer"]))
        except IdentityProviderFailed as error:
            self.add_error("issuer", gettext(str(error)))
        if self.instance._state.adding and not values.get("secret"):
            self.add_error("secret", _REQUIRED)
        elif self.issuer_is_new() and not values.get("secret"):  # the new issuer would receive the old secret
            self.add_error("secret", gettext("Enter the secret again, because the issuer has changed."))
        if secret := values.get("secret"):
            self.instance.client_secret = encryption.encrypt(secret, encryption.Purpose.IDENTITY_PROVIDER)

    def _read_metadata(self, values: dict[str, Any]) -> None:
        """Set what the metadata says of the provider, and create ragsite's SAML key if there is none that can be read.

        The instance is saved later. The field of the secret holds the private key.
        """
        if not values.get("metadata"):
            if self.instance._state.adding:
                self.add_error("metadata", _REQUIRED)
            return
        try:
            described = metadata.read_metadata(values["metadata"])
        except IdentityProviderFailed as error:
            self.add_error("metadata", gettext(str(error)))
            return
        values["issuer"] = self.instance.issuer = described.issuer
        self.instance.sign_in_url, self.instance.sign_out_url = described.sign_in_url, described.sign_out_url
        self.instance.sign_out_response_url = described.sign_out_response_url
        self.instance.certificates = described.certificates
        if self.instance._state.adding or not service_provider.has_key(self.instance):
            self.instance.client_secret = service_provider.create_key()

    def issuer_is_new(self) -> bool:
        """Return whether an existing provider gets another issuer."""
        issuer = self.cleaned_data.get("issuer", self._stored_issuer)
        return not self.instance._state.adding and issuer != self._stored_issuer

    def _organization_id(self, values: dict[str, Any]) -> uuid.UUID | None:
        """Return the organisation that was chosen, or that of an existing provider, which keeps it."""
        chosen: Organization | None = values.get("organization")
        return chosen.pk if chosen else self.instance.organization_id

    def _has_verified_domain(self, organization_id: uuid.UUID | None) -> bool:
        domains = SignInDomain.objects.filter(organization=organization_id, verified_at__isnull=False)
        return organization_id is not None and bool(domains.exists())
