"""Users in the admin, for superusers. The members of an organisation are managed as memberships."""

from typing import Protocol

from axes.models import AccessAttempt
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm
from django.contrib.auth.models import Group
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django_otp.plugins.otp_static import admin as static_device_admin  # noqa: F401  # registers what is removed below
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp import admin as totp_device_admin  # noqa: F401
from django_otp.plugins.otp_totp.models import TOTPDevice

from .models import User
from .sign_in import lockout, second_factor
from .superuser_admin import SuperuserAdmin

# Their pages would show the keys of all users' authenticator apps.
admin.site.unregister([TOTPDevice, StaticDevice])
# Rights follow from roles in organisations, so groups would have no effect.
admin.site.unregister(Group)


class UserCreationForm(AdminUserCreationForm):  # type: ignore[type-arg]  # not subscriptable at runtime
    """Django's form for a new user, with the fields of this project's user."""

    class Meta:
        model = User
        fields = ("email", "name")


class UserForm(UserChangeForm):  # type: ignore[type-arg]  # not subscriptable at runtime
    """Django's form for an existing user, for this project's user."""

    class Meta:
        model = User
        fields = "__all__"


class ListedUser(Protocol):
    """A user as the list of accounts reads it."""

    second_factor: bool


@admin.register(User)
class UserAdmin(SuperuserAdmin, DjangoUserAdmin):  # type: ignore[type-arg]  # not subscriptable at runtime
    """Manages user accounts and removes lost second factors.

    Django's model permissions have no effect: whoever changes accounts can become a superuser.
    """

    form = UserForm
    add_form = UserCreationForm
    ordering = ("email",)
    list_display = ("email", "name", "is_active", "is_staff", "is_superuser", "has_second_factor", "last_login")
    list_filter = ("is_active", "is_staff", "is_superuser")
    search_fields = ("email", "name")
    readonly_fields = ("last_login", "date_joined")
    filter_horizontal = ()
    actions: tuple[str, ...] = ("remove_second_factor",)
    fieldsets = (
        (None, {"fields": ("email", "password", "name")}),
        (_("Rights"), {"fields": ("is_active", "is_staff", "is_superuser")}),
        (_("Dates"), {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = (
        (None, {"classes": ("wide",), "fields": ("email", "name", "usable_password", "password1", "password2")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        devices = TOTPDevice.objects.filter(user=OuterRef("pk"), confirmed=True)
        users: QuerySet[User] = super().get_queryset(request).annotate(second_factor=Exists(devices))
        return users

    @admin.display(description=_("second factor"), boolean=True)
    def has_second_factor(self, user: ListedUser) -> bool:
        return user.second_factor

    @admin.action(description=_("Remove the second factor (a lost device)"), permissions=["change"])
    def remove_second_factor(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        second_factor.remove(queryset)
        self.message_user(request, _("They sign in with their password alone until they set it up again."))


@admin.register(AccessAttempt)
class FailedSignInAdmin(SuperuserAdmin):
    """Lists failed sign-ins that still count, and the resulting lockouts.

    Deleting the row of an account and an address releases the account's lockout there. The lockout of an address for
    all accounts is released by deleting all rows of the address.
    """

    empty_text = _("No failed sign-in counts at the moment, so nobody is locked out.")
    list_display = ("username", "ip_address", "failures_since_start", "attempt_time", "is_locked")
    search_fields = ("username", "ip_address")
    fields = readonly_fields = ("username", "ip_address", "failures_since_start", "attempt_time", "path_info")

    def get_queryset(self, request: HttpRequest) -> QuerySet[AccessAttempt]:
        since = timezone.now() - settings.AXES_COOLOFF_TIME
        return super().get_queryset(request).filter(attempt_time__gte=since)

    @admin.display(description=_("locked"), boolean=True)
    def is_locked(self, attempt: AccessAttempt) -> bool:
        return lockout.is_locked(attempt)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: AccessAttempt | None = None) -> bool:
        return False
