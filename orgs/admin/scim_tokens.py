"""The SCIM token of an organisation, with which its directory adds and removes members."""

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from orgs.models import ScimToken
from orgs.scim import tokens

from .single_sign_on import SingleSignOnAdmin


@admin.register(ScimToken)
class ScimTokenAdmin(SingleSignOnAdmin):
    """Issues the token of an organisation's directory, and shows it once."""

    empty_text = _("With a SCIM token, a directory adds and removes the members of an organisation by itself.")
    list_display = ("prefix", "organization", "created_at", "last_used_at")
    list_select_related = ("organization",)
    fieldsets = (
        (
            None,
            {
                "fields": ("organization",),
                "description": _(
                    "Saving creates a token, which is shown once. Enter it in your directory, together with the "
                    "address /scim/v2 of this site. An organisation has one token."
                ),
            },
        ),
    )
    actions = ("replace",)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: ScimToken, form: "ModelForm[Model]", change: bool) -> None:
        self._save_with_new_secret(request, obj)

    @admin.action(description=_("Replace the selected tokens"), permissions=["delete"])
    def replace(self, request: HttpRequest, scim_tokens: QuerySet[ScimToken]) -> None:
        for row in scim_tokens:
            self._save_with_new_secret(request, row)

    def _save_with_new_secret(self, request: HttpRequest, row: ScimToken) -> None:
        secret = tokens.set_new_secret(row)
        row.save()
        text = gettext("The SCIM token of {} is {}. It is not shown again.")
        messages.warning(request, format_html(text, row.organization, secret))
