"""The page that an invitation's link opens: for a new account its name and password, otherwise one button."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.contrib.auth import login, password_validation
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from accounts.models import MAX_NAME_CHARACTERS, User
from accounts.sign_in import known_devices, second_factor
from orgs.models import Invitation
from orgs.single_sign_on.enforcement import providers_enforced_for
from ragsite.postgres import identity

from . import acceptance

_BACKEND = "orgs.single_sign_on.enforcement.PasswordBackend"
_MAX_PASSWORD_LENGTH = 256


class NewAccountForm(forms.Form):
    """The name and the password of a new account."""

    name = forms.CharField(
        label=_("Your name"),
        max_length=MAX_NAME_CHARACTERS,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    password = forms.CharField(
        label=_("Password"),
        max_length=_MAX_PASSWORD_LENGTH,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=password_validation.password_validators_help_text_html(),
    )
    repeated = forms.CharField(
        label=_("The same password again"),
        max_length=_MAX_PASSWORD_LENGTH,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def __init__(self, *args: Any, email: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._email = email

    def clean_name(self) -> str:
        return User.objects.displayable_name(self.cleaned_data["name"])

    def clean(self) -> dict[str, object]:
        values = super().clean() or self.cleaned_data
        password = values.get("password")
        if password and password != values.get("repeated"):
            self.add_error("repeated", _("The two passwords differ."))
        if password:
            try:
                password_validation.validate_password(password, User(email=self._email, name=values.get("name", "")))
            except forms.ValidationError as error:
                self.add_error("password", error)
        return values


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def show_invitation(request: HttpRequest) -> HttpResponse:
    """Show or accept the invitation of the token. Only a POST accepts it: programs that check mail follow links."""
    token = (request.POST if request.method == "POST" else request.GET).get("token", "")
    invitation = acceptance.find(token)
    if invitation is None:
        return _render_ended(request)
    try:
        user = request.user
        if isinstance(user, User):
            return _join(request, token, invitation, user)
        return _create_account(request, token, invitation)
    except acceptance.InvitationEnded:
        return _render_ended(request)


def _join(request: HttpRequest, token: str, invitation: Invitation, user: User) -> HttpResponse:
    with identity.run_as(identity.SIGN_IN):  # requests' database role reads no second factors
        is_verified = second_factor.is_verified(user)
    is_addressee = user.email == invitation.email
    if request.method == "POST" and is_addressee and is_verified:
        organization = acceptance.join(token, user)
        messages.success(request, _("You are now a member of {organization}.").format(organization=organization))
        return HttpResponseRedirect(reverse("ask"))
    context = {"can_join": is_addressee and is_verified, "is_other_account": not is_addressee}
    return _render(request, token, invitation, context)


def _create_account(request: HttpRequest, token: str, invitation: Invitation) -> HttpResponse:
    if acceptance.has_account(invitation):
        return _render(request, token, invitation, {"must_sign_in": True})
    form = NewAccountForm(request.POST if request.method == "POST" else None, email=invitation.email)
    if not form.is_valid():
        return _render(request, token, invitation, {"form": form}, status=400 if form.is_bound else 200)
    values = form.cleaned_data
    user = acceptance.join_with_new_account(token, name=values["name"], password=values["password"])
    response = HttpResponseRedirect(reverse("ask"))
    identity.set_current(identity.SIGN_IN)  # the new session
    if providers_enforced_for(user).exists():
        messages.success(request, _("Your account is ready. Sign in with your organisation's identity provider."))
        return HttpResponseRedirect(reverse("sign_in"))
    login(request, user, backend=_BACKEND)
    known_devices.remember(response, user)
    text = _("Welcome. You are now a member of {organization}.")
    messages.success(request, text.format(organization=invitation.organization))
    return response


def _render(
    request: HttpRequest, token: str, invitation: Invitation, context: Mapping[str, object], *, status: int = 200
) -> HttpResponse:
    link = f"{reverse('invitation')}?{urlencode({'token': token})}"
    sign_in = f"{reverse('sign_in')}?{urlencode({'next': link})}"
    shared = {"title": _("Invitation"), "token": token, "invitation": invitation, "sign_in": sign_in}
    return render(request, "orgs/invitation.html", {**shared, **context}, status=status)


def _render_ended(request: HttpRequest) -> HttpResponse:
    return render(request, "orgs/invitation.html", {"title": _("Invitation")}, status=404)
