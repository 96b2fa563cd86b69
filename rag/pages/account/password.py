"""The page on which people change their own password. It needs the current one."""

from django import forms
from django.contrib import messages
from django.contrib.auth import authenticate, update_session_auth_hash
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from accounts.models import User
from accounts.sign_in.forms import NewPasswordForm
from accounts.sign_in.pages import render_too_many_checks
from accounts.sign_in.password_backend import TooManyPasswordChecks, may_use_password
from orgs.access.caller import get_caller
from rag.pages.base import page, rate_limited
from ragsite.postgres import identity

_MAX_PASSWORD_CHARACTERS = 1024


class ChangePasswordForm(NewPasswordForm):
    """The form for a new password, with a field for the current one."""

    old_password = forms.CharField(
        label=gettext_lazy("Current password"),
        max_length=_MAX_PASSWORD_CHARACTERS,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    field_order = ("old_password", "new_password1", "new_password2")

    user: User

    def __init__(self, request: HttpRequest, user: User) -> None:
        super().__init__(user, request.POST if request.method == "POST" else None)
        self._request = request

    def clean_old_password(self) -> str:
        """Check the current password as a sign-in does: failures count towards a lock (accounts.sign_in.lockout)."""
        password = str(self.cleaned_data["old_password"])
        checked = authenticate(self._request, username=self.user.email, password=password)
        if checked is None or checked.pk != self.user.pk:
            raise forms.ValidationError(_("This is not your current password."))
        return password


@sensitive_post_parameters()
@page
@require_http_methods(["GET", "POST"])
@rate_limited()
def change_password(request: HttpRequest) -> HttpResponse:
    """Change the visitor's password. It ends all other sessions and all tokens."""
    user = get_caller(request).authenticated_user
    if not has_own_password(user):
        raise Http404
    identity.set_current(identity.SIGN_IN)  # until the response: a lock is reported after this view
    form = ChangePasswordForm(request, User.objects.get(pk=user.pk))
    try:
        is_valid = request.method == "POST" and form.is_valid()
    except TooManyPasswordChecks as error:
        return render_too_many_checks(request, error)
    if is_valid:
        update_session_auth_hash(request, form.save())
        messages.success(request, _("Your password is changed. You are signed out everywhere else."))
        return HttpResponseRedirect(reverse("account"))
    context = {"section": "account", "title": _("Change the password"), "form": form}
    return render(request, "pages/account/password.html", context)


def has_own_password(user: User) -> bool:
    """Return whether the user signs in with a password that is stored here."""
    with identity.run_as(identity.SIGN_IN):
        stored = User.objects.get(pk=user.pk)
        return stored.has_usable_password() and may_use_password(stored)
