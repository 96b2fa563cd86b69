"""Resetting a forgotten password by e-mail: a link that works once, and for one hour.

The pages give the same response, in the same time, whether or not there is an account: another thread does the rest.
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.tokens import default_token_generator
from django.contrib.auth.views import INTERNAL_RESET_SESSION_TOKEN, PasswordResetConfirmView
from django.core.cache import cache
from django.core.mail import send_mail
from django.db import connection, transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse, reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import get_language, gettext, override
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect

from accounts.models import MAX_EMAIL_CHARACTERS, User
from ragsite.http.addresses import build_public_url
from ragsite.postgres import identity

from .forms import NewPasswordForm

logger = structlog.get_logger(__name__)

# One message to an account in this time.
_PAUSE_SECONDS = 300
# How many messages may wait to be sent. A request beyond this number sends no message.
_places = threading.BoundedSemaphore(50)
_sender = ThreadPoolExecutor(1, thread_name_prefix="password-reset")


def is_available() -> bool:
    """Whether the operator has configured e-mail (RAG_EMAIL_URL)."""
    return bool(settings.RAG_EMAIL_URL)


@method_decorator([never_cache, csrf_protect], name="dispatch")
class ForgottenPassword(View):
    """Sends a link to the address of an account."""

    template = "accounts/forgotten_password.html"

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        if not is_available():
            raise Http404
        return super().dispatch(request, *args, **kwargs)

    def get(self, request: HttpRequest) -> HttpResponse:
        return render(request, self.template)

    def post(self, request: HttpRequest) -> HttpResponse:
        email = User.objects.normalize_email(request.POST.get("email", "")[:MAX_EMAIL_CHARACTERS])
        if _places.acquire(blocking=False):
            _sender.submit(_send_and_close, email, build_public_url(request, "/"), get_language())
        return render(request, self.template, {"is_sent": True})


class SetPassword(PasswordResetConfirmView):
    """Sets a new password with the link of a message. All sign-ins of the account end with the old one."""

    form_class = NewPasswordForm
    template_name = "accounts/set_password.html"
    success_url = reverse_lazy("sign_in")

    def dispatch(self, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not is_available():
            raise Http404
        identity.set_current(identity.SIGN_IN)
        return super().dispatch(*args, **kwargs)

    @transaction.atomic
    def form_valid(self, form: "SetPasswordForm[User]") -> HttpResponse:
        # Others who follow the same link wait, and find it used.
        user = User.objects.select_for_update(no_key=True).filter(pk=form.user.pk).first()
        token = self.request.session.get(INTERNAL_RESET_SESSION_TOKEN)
        if not self.token_generator.check_token(user, token):
            self.validlink = False
            return self.render_to_response(self.get_context_data())
        return super().form_valid(form)


def _send_and_close(email: str, site: str, language: str | None) -> None:
    try:
        with override(language):
            send_link(email, site)
    except Exception as error:
        # Without the address: the log names nobody who asks.
        logger.warning("password_reset_not_sent", reason=type(error).__name__)
    finally:
        _places.release()
        connection.close()


def send_link(email: str, site: str) -> None:
    """Send a link if there is an active account with a password, at most once in five minutes."""
    with identity.run_as(identity.SIGN_IN):
        user = User.objects.filter(email=email, is_active=True).first()
        if user is None or not user.has_usable_password():
            return
        if not cache.add(f"password-reset-{user.pk}", 1, _PAUSE_SECONDS):
            return
        token = default_token_generator.make_token(user)
    path = reverse("set_password", args=[urlsafe_base64_encode(force_bytes(user.pk)), token])
    context = {"email": user.email, "site": site, "url": site.rstrip("/") + path}
    text = render_to_string("accounts/password_reset_email.txt", context)
    send_mail(gettext("Set a new password"), text, settings.RAG_EMAIL_FROM, [user.email])
