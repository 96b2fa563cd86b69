"""The pages on which people create and revoke their own API keys."""

import datetime
import uuid

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_http_methods

from accounts.models import User
from orgs.access.caller import get_caller
from orgs.access.permissions import Scope
from orgs.api_keys import key_lifecycle
from orgs.models import ApiKey, Organization
from orgs.models.api_keys import MAX_KEY_NAME_CHARACTERS
from rag.pages.base import page, rate_limited

_SCOPE_LABELS = (
    (Scope.QUERY.value, gettext_lazy("search and ask")),
    (Scope.INGEST.value, gettext_lazy("send documents and watch jobs")),
    (Scope.MANAGE.value, gettext_lazy("create, change and delete data sources")),
)


def describe_scopes(key: ApiKey) -> str:
    """Return what a key may be used for, in the words of the form."""
    return ", ".join(str(label) for scope, label in _SCOPE_LABELS if scope in key.scopes)


class KeyForm(forms.Form):
    """A new API key of somebody who is a member of these organisations."""

    name = forms.CharField(
        label=pgettext_lazy("key", "Name"),
        max_length=MAX_KEY_NAME_CHARACTERS,
        help_text=gettext_lazy("What uses the key, such as n8n."),
    )
    organization = forms.ModelChoiceField(Organization.objects.none(), label=gettext_lazy("Organisation"))
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("What it may be used for"), choices=_SCOPE_LABELS, widget=forms.CheckboxSelectMultiple
    )
    expires_on = forms.DateField(
        label=gettext_lazy("Expires on"),
        required=False,
        help_text=gettext_lazy("It works until this day ends in UTC, without a date until somebody revokes it."),
        widget=forms.DateInput(attrs={"type": "date"}),
    )

    def __init__(self, user: User, data: QueryDict | None = None) -> None:
        super().__init__(data)
        self._user = user
        organizations = Organization.objects.filter(memberships__in=user.memberships.active_for(user)).order_by("name")
        field = self.fields["organization"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = organizations
        if data is None and len(organizations) == 1:
            self.initial["organization"] = organizations[0]

    def clean_name(self) -> str:
        """Refuse a name twice: a page that is loaded again sends its form again, which would create a second key."""
        name: str = self.cleaned_data["name"]
        if ApiKey.objects.live().filter(user=self._user, name=name).exists():
            raise forms.ValidationError(
                _("You have an API key with this name. Choose another name, or revoke that key.")
            )
        return name

    def clean_expires_on(self) -> datetime.date | None:
        day: datetime.date | None = self.cleaned_data["expires_on"]
        if day and _end_of(day) <= timezone.now():
            raise forms.ValidationError(_("Choose a day that is not over."))
        return day


def _end_of(day: datetime.date) -> datetime.datetime:
    return datetime.datetime.combine(day, datetime.time.max, timezone.get_current_timezone())


@page
@require_http_methods(["GET", "POST"])
@rate_limited()
def create_key(request: HttpRequest) -> HttpResponse:
    """Show the form; a POST creates an API key and shows its secret, which no other page can show."""
    user = get_caller(request).authenticated_user
    form = KeyForm(user, request.POST if request.method == "POST" else None)
    context: dict[str, object] = {"section": "account", "title": _("Create an API key"), "form": form}
    if request.method == "POST" and form.is_valid():
        values = form.cleaned_data
        last_day = values["expires_on"]
        try:
            context["issued"] = key_lifecycle.issue(
                user=user,
                organization=values["organization"],
                name=values["name"],
                scopes=values["scopes"],
                expires_at=_end_of(last_day) if last_day else None,
            )
        except key_lifecycle.TooManyKeys:
            form.add_error(None, _("You have as many API keys as one person may have. Revoke one first."))
    return render(request, "pages/account/create_key.html", context)


@page
@require_http_methods(["GET", "POST"])
@rate_limited()
def revoke_key(request: HttpRequest, key_id: uuid.UUID) -> HttpResponse:
    """Ask whether to revoke one of the visitor's keys; a POST revokes it."""
    key = ApiKey.objects.filter(user=get_caller(request).authenticated_user, pk=key_id).first()
    if key is None:
        raise Http404
    if request.method == "POST":
        key_lifecycle.revoke_own(key)
        messages.success(request, _("The API key is revoked."))
        return HttpResponseRedirect(reverse("account"))
    context = {"section": "account", "title": _("Revoke an API key"), "key": key}
    return render(request, "pages/account/revoke_key.html", context)
