"""Single sign-on in the admin: the identity provider of an organisation, its groups, and its domains.

Whoever configures a provider can sign in as every member. Therefore it needs all permissions in the organisation.
"""

import copy
from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Field as DbField
from django.db.models import ForeignKey, Model, OuterRef, QuerySet, Subquery
from django.db.utils import IntegrityError
from django.forms import Field as FormField
from django.forms import ModelChoiceField, ModelForm
from django.forms.models import BaseInlineFormSet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from orgs.access.permissions import Permission
from orgs.admin.bases.identity_provider_form import IdentityProviderForm
from orgs.admin.bases.request_permissions import read_permissions, remember
from orgs.admin.bases.scoped_admin import OrganizationRowsAdmin, without_links
from orgs.models import (
    GroupMapping,
    IdentityProvider,
    LinkedIdentity,
    Membership,
    Organization,
    Protocol,
    Role,
    SignInDomain,
    Team,
)
from orgs.single_sign_on import back_channel_logout, pages
from orgs.single_sign_on.linked_accounts import unlink
from orgs.single_sign_on.saml import service_provider

_ADDRESSES = _("Register at the provider the redirect address <code>{}</code>, and for sign-outs there <code>{}</code>")
_SAML_ADDRESSES = _(
    "Give the provider this address of our metadata, which is also our entity id: <code>{}</code>. It receives "
    "responses at <code>{}</code> and sign-outs at <code>{}</code>. Paste the provider's metadata here when its "
    "certificate changes; leave this empty to keep what is known."
)


def fully_managed_organizations(request: HttpRequest) -> QuerySet[Organization]:
    """Return the organisations in which the user of this request has every permission."""
    organizations = Organization.objects.filter(deleted_at=None)
    if request.user.is_active and request.user.is_superuser:
        return organizations
    # One query for all permissions: a subquery for each of them takes 80 ms, and every page of the admin asks this.
    permissions = read_permissions(request)
    managed = [set(permissions.organizations_with(permission)) for permission in Permission]
    return organizations.filter(pk__in=set.intersection(*managed))


class SingleSignOnAdmin(OrganizationRowsAdmin):
    """Base of the pages: rows of the organisations in which the user has every permission."""

    def is_allowed(self, request: HttpRequest) -> bool:
        return remember(request, "single sign-on", lambda: fully_managed_organizations(request).exists())

    def managed_organizations(self, request: HttpRequest) -> QuerySet[Organization]:
        return fully_managed_organizations(request)

    def selectable_rows(self, request: HttpRequest, model: type[Model]) -> QuerySet[Model] | None:
        if model is User:
            organizations = self.managed_organizations(request)
            members = Membership.objects.filter(organization__in=organizations, is_active=True)
            return User.objects.filter(pk__in=members.values("user"))
        return super().selectable_rows(request, model)


# Groups of a provider, unless more are stored. As many forms are built for a request that says that it has more.
MAX_GROUPS = 200


class GroupMappingInline(admin.StackedInline):  # type: ignore[type-arg]  # not subscriptable at runtime
    model = GroupMapping
    extra = 1
    verbose_name = _("group")  # "Add another group"
    verbose_name_plural = _("groups of the provider, and what their members get here")

    def formfield_for_dbfield(
        self, db_field: "DbField[object, object]", request: HttpRequest, **kwargs: object
    ) -> FormField | None:
        return without_links(super().formfield_for_dbfield(db_field, request, **kwargs))

    def formfield_for_foreignkey(
        self, db_field: "ForeignKey[object, object]", request: HttpRequest, **kwargs: Any
    ) -> "ModelChoiceField[Model] | None":
        if db_field.remote_field.model in (Role, Team):
            kwargs["queryset"] = db_field.remote_field.model._default_manager.filter(
                organization__in=fully_managed_organizations(request)
            )
        field = super().formfield_for_foreignkey(db_field, request, **kwargs)
        if field is not None:
            choices: Any = field.choices
            field.choices = list(choices)  # read once, and not for the form of each group
        return field

    def get_formset(
        self, request: HttpRequest, obj: IdentityProvider | None = None, **kwargs: Any
    ) -> "type[BaseInlineFormSet[Model, Model, ModelForm[Model]]]":
        maximum = max(MAX_GROUPS, obj.group_mappings.count() if obj else 0)
        return super().get_formset(request, obj, **{"max_num": maximum, "absolute_max": maximum, **kwargs})

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return fully_managed_organizations(request).exists()

    has_view_permission = has_change_permission = has_delete_permission = has_add_permission


@admin.register(IdentityProvider)
class IdentityProviderAdmin(SingleSignOnAdmin):
    """Configures the provider of an organisation and what its groups get."""

    form = IdentityProviderForm
    empty_text = _(
        "With an identity provider, such as Entra ID, Okta or Keycloak, people sign in with the account of their "
        "organisation."
    )
    inlines = (GroupMappingInline,)
    list_display = ("name", "organization", "protocol", "issuer", "is_active", "is_enforced")
    list_select_related = ("organization",)

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Return all fields for a new provider, then those of its protocol."""
        openid_connect = (_("OpenID Connect"), {"fields": ("issuer", "client_id", "secret")})
        saml = (_("SAML 2.0"), {"fields": ("metadata",)})
        sections = {Protocol.OPENID_CONNECT: (openid_connect,), Protocol.SAML: (saml,)}
        chosen = sections[Protocol(obj.protocol)] if isinstance(obj, IdentityProvider) else (openid_connect, saml)
        common = ("groups_claim", "is_active", "is_enforced", "emergency_user")
        return (
            (None, {"fields": ("organization", "name", "protocol")}),
            *chosen,
            (_("People"), {"fields": common}),
        )

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        return ("organization", "protocol") if obj else ()

    def get_form(
        self, request: HttpRequest, obj: IdentityProvider | None = None, change: bool = False, **kwargs: object
    ) -> type["ModelForm[Model]"]:
        form = super().get_form(request, obj, change, **kwargs)
        if obj is not None and "client_id" in form.base_fields:
            addresses = pages.redirect_uri(request, obj), back_channel_logout.logout_url(request, obj)
            form.base_fields["client_id"].help_text = format_html(str(_ADDRESSES), *addresses)
        if obj is not None and "metadata" in form.base_fields:
            sp = service_provider.addresses(request, obj)
            # A declared field belongs to all forms: without a copy, later pages would show this provider's addresses.
            metadata = copy.copy(form.base_fields["metadata"])
            metadata.help_text = format_html(str(_SAML_ADDRESSES), sp.entity_id, sp.consumer_url, sp.sign_out_url)
            form.base_fields["metadata"] = metadata
        return form

    def save_model(self, request: HttpRequest, obj: IdentityProvider, form: IdentityProviderForm, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if form.issuer_is_new():  # the same subject is another person there
            LinkedIdentity.objects.filter(provider=obj).delete()


@admin.register(SignInDomain)
class SignInDomainAdmin(SingleSignOnAdmin):
    """Lists the domains of organisations. Superusers verify them."""

    empty_text = _(
        "A sign-in domain is the part of e-mail addresses after the @. Its people are sent to the identity provider "
        "when they sign in."
    )
    list_display = ("domain", "organization", "verified_at")
    list_select_related = ("organization",)
    fieldsets = (
        (
            None,
            {
                "fields": ("organization", "domain"),
                "description": _("The domain is used as soon as a superuser has confirmed that it is yours."),
            },
        ),
    )
    actions = ("verify",)

    def get_form(
        self, request: HttpRequest, obj: Model | None = None, change: bool = False, **kwargs: object
    ) -> type["ModelForm[Model]"]:
        kwargs["error_messages"] = {"domain": {"invalid": gettext("Enter a domain such as example.com.")}}
        return super().get_form(request, obj, change, **kwargs)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False  # a verified domain cannot become another one

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        actions = super().get_actions(request)
        if not request.user.is_superuser:
            actions.pop("verify", None)
        return actions

    @admin.action(description=_("Confirm that the organisation owns these domains"))
    def verify(self, request: HttpRequest, domains: QuerySet[SignInDomain]) -> None:
        confirmed = 0
        for domain in domains.filter(verified_at=None):
            try:
                with transaction.atomic():
                    domain.verified_at = timezone.now()
                    domain.save()
                confirmed += 1
            except IntegrityError:
                messages.error(
                    request, gettext("{domain} belongs to another organisation already.").format(domain=domain)
                )
        text = ngettext("{number} domain is confirmed.", "{number} domains are confirmed.", confirmed)
        messages.info(request, text.format(number=confirmed))


@admin.register(LinkedIdentity)
class LinkedIdentityAdmin(SingleSignOnAdmin):
    """Shows which account of the provider signs in to which account here, and unlinks them."""

    empty_text = _("An account is linked when its person signs in with the identity provider for the first time.")
    list_display = ("person", "provider", "subject", "created_at")
    list_display_links = ("subject",)
    list_filter = ("provider",)
    list_select_related = ("provider",)
    search_fields = ("user__email", "subject")
    fields = readonly_fields = ("person", "provider", "subject", "created_at")

    def visible_rows(self, request: HttpRequest) -> QuerySet[Model]:
        """Return the links of the managed organisations, those of former members too."""
        email = User.objects.filter(pk=OuterRef("user")).values("email")
        rows = LinkedIdentity.objects.annotate(email=Subquery(email))
        return rows.filter(provider__organization__in=fully_managed_organizations(request))

    def selectable_rows(self, request: HttpRequest, model: type[Model]) -> QuerySet[Model] | None:
        if model is IdentityProvider:
            return IdentityProvider.objects.filter(organization__in=fully_managed_organizations(request))
        return super().selectable_rows(request, model)

    @admin.display(description=_("person"), ordering="email")
    def person(self, linked: LinkedIdentity) -> str:
        email: str | None = linked.email  # type: ignore[attr-defined]  # annotated
        return email or gettext("no member any more")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False  # sign-in links accounts

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def delete_model(self, request: HttpRequest, obj: LinkedIdentity) -> None:
        unlink(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[LinkedIdentity]) -> None:
        for linked in queryset:
            unlink(linked)
