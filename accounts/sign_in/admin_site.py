"""The admin site, and the page that sets up the second factor."""

import contextlib
import functools
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, NotRequired, TypedDict

import django_otp
import segno
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path, re_path, reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect

from accounts.models import User

from . import known_devices, second_factor
from .forms import StaffSignInForm
from .pages import render_too_many_checks
from .password_backend import TooManyPasswordChecks


class ListedModel(TypedDict):
    """A model, or another page, in a list of the home page and the sidebar; Django's has more."""

    name: str
    object_name: str
    admin_url: str
    add_url: str | None
    view_only: bool
    is_current: NotRequired[bool]


class ListedApp(TypedDict):
    """An app with its models, or another group of pages, as Django lists it."""

    name: str
    app_label: str
    app_url: str
    has_module_perms: bool
    models: list[ListedModel]


class Site(AdminSite):
    """The admin site. With RAG_STAFF_OTP it requires a verified second factor."""

    login_form = StaffSignInForm
    login_template = "accounts/sign_in.html"
    index_template = "accounts/admin_home.html"

    def __init__(self, name: str = "admin") -> None:
        super().__init__(name)
        self._read_figures: Callable[[HttpRequest], dict[str, object]] | None = None
        self._group_lists: Callable[[HttpRequest, list[ListedApp]], list[ListedApp]] | None = None
        self._pages: list[tuple[str, Callable[..., HttpResponseBase], str]] = []

    def register_page(self, route: str, view: Callable[..., HttpResponseBase], name: str) -> None:
        """Add a page that belongs to no model. Only people who may open the admin reach it.

        Args:
            route: Its path below the admin's, as a regular expression.
            view: Its view, which checks further permissions.
            name: Its name among the admin's URLs.
        """
        self._pages.append((route, view, name))

    def register_figures(self, read_figures: Callable[[HttpRequest], dict[str, object]]) -> None:
        """Show figures on the home page: `read_figures` returns what its template needs, for the user of a request."""
        self._read_figures = read_figures

    def register_navigation(self, group_lists: Callable[[HttpRequest, list[ListedApp]], list[ListedApp]]) -> None:
        """Group the lists of the home page and the sidebar: `group_lists` returns Django's list of apps in groups."""
        self._group_lists = group_lists

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[ListedApp]:
        if not self.has_permission(request):  # the sign-in page, whose database login reads no permissions
            return []
        app_list = super().get_app_list(request, app_label)
        return self._group_lists(request, app_list) if self._group_lists and app_label is None else app_list

    def index(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> TemplateResponse:
        """Show the home page with its figures."""
        figures = self._read_figures(request) if self._read_figures else {}
        return super().index(request, {**(extra_context or {}), **figures})

    def has_permission(self, request: HttpRequest) -> bool:
        """Return whether this request's user may open the admin.

        A page asks three times, and each answer needs a connection of another database role, so the first one is kept.
        """
        if request.method != "GET":  # a form may change the answer
            return self._may_open(request)
        kept = vars(request)
        if "_may_open_admin" not in kept:
            kept["_may_open_admin"] = self._may_open(request)
        return bool(kept["_may_open_admin"])

    def _may_open(self, request: HttpRequest) -> bool:
        if not super().has_permission(request):
            return False
        return second_factor.is_verified(request.user) or request.path == reverse("admin:logout")

    def login(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        user = request.user if super().has_permission(request) else None
        if request.method == "GET" and isinstance(user, User) and second_factor.must_enrol(user):
            return HttpResponseRedirect(reverse("admin:second_factor"))
        try:
            response = super().login(request, extra_context)
        except TooManyPasswordChecks as error:
            return render_too_many_checks(request, error)
        # The response to the form is a redirect only after a sign-in.
        if request.method == "POST" and response.status_code == HTTPStatus.FOUND and isinstance(request.user, User):
            known_devices.remember(response, request.user)
        return response

    # Django's stubs know only a page.
    def password_change(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:  # type: ignore[override]
        """Redirect to the page of the account: Django's form does not count wrong passwords, so it could guess them."""
        return HttpResponseRedirect(reverse("change_password"))

    def autocomplete_view(self, request: HttpRequest) -> HttpResponse:
        """Answer 404: no form of this site asks for suggestions, and Django's view fails for unusual requests."""
        raise Http404

    def admin_view(self, view: Callable[..., HttpResponseBase], cacheable: bool = False) -> Any:
        """Wrap a page. A form that collides with a change of the same moment is checked again, and says so then."""

        @functools.wraps(view)
        def check_again(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
            with contextlib.suppress(IntegrityError):
                return view(request, *args, **kwargs)
            return view(request, *args, **kwargs)

        return super().admin_view(check_again, cacheable)

    def get_urls(self) -> list[URLPattern | URLResolver]:
        pages = [re_path(route, self.admin_view(view), name=name) for route, view, name in self._pages]
        return [path("second-factor/", self.second_factor, name="second_factor"), *pages, *super().get_urls()]

    @method_decorator([never_cache, csrf_protect])
    def second_factor(self, request: HttpRequest) -> HttpResponse:
        """Show the page to set up, renew or remove the second factor. Each change needs a code."""
        user = request.user
        if not second_factor.is_enabled():
            raise Http404
        if not isinstance(user, User) or not super().has_permission(request):
            return HttpResponseRedirect(reverse("admin:login"))
        if second_factor.has_second_factor(user) and not second_factor.is_verified(user):
            return HttpResponseRedirect(reverse("admin:login"))
        recovery_codes = self._change(request, user) if request.method == "POST" else []
        context = self._page_context(request, user, recovery_codes)
        return TemplateResponse(request, "accounts/second_factor.html", context)

    def _change(self, request: HttpRequest, user: User) -> list[str]:
        """Carry out the action of the form. Returns the new recovery codes, if it creates any."""
        code = request.POST.get("code", "")[: second_factor.MAX_CODE_LENGTH]
        match request.POST.get("action"):
            case "confirm" if second_factor.has_second_factor(user):  # the page was loaded again
                messages.info(request, _("Your second factor is set up. Its recovery codes were shown once."))
                return []
            case "confirm":
                if device := second_factor.confirm(user, code):
                    request.session.cycle_key()
                    django_otp.login(request, device)
                    return second_factor.renew_recovery_codes(user)
            case "renew":
                if second_factor.verify(user, code):
                    return second_factor.renew_recovery_codes(user)
            case "remove":
                if second_factor.verify(user, code):
                    second_factor.remove([user])
                    messages.success(request, _("Your second factor is removed."))
                    return []
            case _:
                raise PermissionDenied
        messages.error(request, second_factor.WRONG_CODE)
        return []

    def _page_context(self, request: HttpRequest, user: User, recovery_codes: list[str]) -> dict[str, object]:
        """Return what the template of the page needs. Without a second factor, it shows a new secret as a QR code."""
        has_second_factor = second_factor.has_second_factor(user)
        context = {
            **self.each_context(request),
            "title": _("Second factor"),
            "has_second_factor": has_second_factor,
            "must_enrol": second_factor.must_enrol(user),
            "recovery_codes": recovery_codes,
        }
        if not has_second_factor:
            device = second_factor.get_or_create_unconfirmed(user)
            context["qr"] = segno.make(device.config_url).svg_data_uri(scale=4, light="white")
            context["secret"] = device.config_url.partition("secret=")[2].partition("&")[0]
        return context
