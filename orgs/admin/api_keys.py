"""API keys in the admin, for users with `members.manage`."""

from django.contrib import admin, messages
from django.contrib.admin import helpers
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from orgs.admin.bases.scoped_admin import OrganizationRowsAdmin
from orgs.api_keys import key_lifecycle
from orgs.models import ApiKey
from orgs.models.api_keys import ApiKeyQuerySet

_STATES = {
    "active": _("active"),
    "flagged": _("active, but it was sent without HTTPS"),
    "expired": _("expired"),
    "revoked": _("revoked"),
}


class ReadableOrganizationsFilter(admin.SimpleListFilter):
    """Whether keys may read one organisation or several, which a plain yes or no would not say."""

    title = _("readable organisations")
    parameter_name = "all_organizations"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        return [("0", gettext("the key's own one")), ("1", gettext("all of its user"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> QuerySet[ApiKey]:
        if self.value() not in ("0", "1"):
            return queryset
        return queryset.filter(all_organizations=self.value() == "1")


@admin.register(ApiKey)
class ApiKeyAdmin(OrganizationRowsAdmin):
    """Lists and revokes API keys. Only the user of a key can create it, so that nobody else ever sees it."""

    empty_text = _("Nobody has an API key yet.")
    list_display = (
        *("name", "prefix", "user", "organization", "allows", "restricted", "state"),
        *("expires_at", "last_used_at"),
    )
    list_filter = ("organization", ReadableOrganizationsFilter)
    search_fields = ("name", "prefix", "user__email")
    list_select_related = ("user", "organization")
    # All fields except the hash.
    fields = (
        *("name", "prefix", "user", "organization", "all_organizations", "allows", "source_ids", "networks", "state"),
        *("created_at", "expires_at", "last_used_at", "refused_at", "flagged_at", "revoked_at"),
    )
    actions = ("revoke", "expire_in_24_hours")

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        return lookup == ReadableOrganizationsFilter.parameter_name or super().lookup_allowed(lookup, value, request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    @admin.display(description=_("scopes"))
    def allows(self, key: ApiKey) -> str:
        return ", ".join(key.scopes)

    @admin.display(description=_("state"))
    def state(self, key: ApiKey) -> str:
        return str(_STATES[key.state])

    @admin.display(description=_("restricted to"))
    def restricted(self, key: ApiKey) -> str:
        lists = ((gettext("sources"), key.source_ids), (gettext("networks"), key.networks))
        return ", ".join(f"{name}: {len(values)}" for name, values in lists if values is not None) or "—"

    @admin.action(description=_("Revoke the selected keys"), permissions=["view"])
    def revoke(self, request: HttpRequest, keys: QuerySet[ApiKey]) -> TemplateResponse | None:
        """Ask first: there is no way back, and a client that uses the key stops working immediately."""
        if "confirmed" in request.POST:
            number = key_lifecycle.revoke(keys)
            messages.success(request, gettext("Revoked: {number}. There is no way back.").format(number=number))
            return None
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("Revoke API keys?"),
            "opts": self.opts,
            "keys": keys.select_related("user", "organization"),
            "selected": helpers.ACTION_CHECKBOX_NAME,
        }
        return TemplateResponse(request, "admin/orgs/apikey/revoke.html", context)

    @admin.action(description=_("Expire the selected keys in 24 hours"), permissions=["view"])
    def expire_in_24_hours(self, request: HttpRequest, keys: ApiKeyQuerySet) -> None:
        """Expire keys without creating successors: an administrator would see the secrets of other people's keys."""
        number = key_lifecycle.expire_by(keys, timezone.now() + key_lifecycle.DEFAULT_OVERLAP)
        messages.success(
            request,
            gettext("Keys that expire in 24 hours: {number}. Their users replace them with POST …/rotate.").format(
                number=number
            ),
        )
