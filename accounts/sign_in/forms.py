"""The sign-in forms: a password and, for those who have one, the code of the second factor."""

from django import forms
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.forms import AuthenticationForm, SetPasswordForm
from django.contrib.auth.signals import user_login_failed
from django.utils.translation import gettext_lazy as _

from accounts.models import User

from . import second_factor


class SignInForm(AuthenticationForm):
    """Django's sign-in form with a field for the code of the second factor."""

    # Django's text asks to mind upper and lower case, which makes no difference in an address.
    error_messages = {
        **AuthenticationForm.error_messages,
        "invalid_login": _("The e-mail address or the password is wrong."),
    }
    code = forms.CharField(
        required=False,
        max_length=second_factor.MAX_CODE_LENGTH,
        label=_("Code"),
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code"}),
        help_text=_("If you have set up a second factor."),
    )

    def clean(self) -> dict[str, object]:
        cleaned: dict[str, object] = super().clean()
        user = self.get_user()
        if not isinstance(user, User) or not second_factor.is_required_to_sign_in(user):
            return cleaned
        if not (code := cleaned.get("code")):
            raise forms.ValidationError(second_factor.CODE_REQUIRED)
        device = second_factor.verify(user, str(code))
        if device is None:
            # Wrong codes count as wrong passwords do (accounts.sign_in.lockout).
            user_login_failed.send(__name__, credentials={"username": user.email}, request=self.request)
            raise forms.ValidationError(second_factor.WRONG_CODE)
        vars(user)["otp_device"] = device  # django-otp keeps it in the session
        return cleaned


class StaffSignInForm(SignInForm, AdminAuthenticationForm):
    """The form of the admin, which only accepts staff."""

    error_messages = {
        **SignInForm.error_messages,
        "invalid_login": _("The e-mail address or the password is wrong, or this account may not open the admin."),
    }


class NewPasswordForm(SetPasswordForm):  # type: ignore[type-arg]  # generic in its stubs only
    """Django's form for a new password, which saves nothing else.

    Since the account was read, a second may have passed, in which somebody has deactivated it.
    """

    user: User

    def save(self, commit: bool = True) -> User:
        self.set_password_and_save(self.user, "new_password1", commit=False)
        self.user.save(update_fields=["password"])
        return self.user
