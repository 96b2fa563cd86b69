"""URLs of the site."""

from django.contrib import admin
from django.urls import include, path, re_path
from django.utils.translation import gettext_lazy as _
from django.views.i18n import set_language

from accounts.sign_in import pages, password_reset
from orgs.invitations import pages as invitation_pages

from .views import api_reference, error_pages, health, metrics

admin.autodiscover()
admin.site.site_header = admin.site.site_title = "ragsite"
admin.site.index_title = _("Administration")
admin.site.site_url = "/"

urlpatterns = [
    path("", include("rag.pages.urls")),
    path("sign-in", pages.SignIn.as_view(), name="sign_in"),
    path("sign-in/", include("orgs.single_sign_on.urls")),
    path("sign-in/forgotten", password_reset.ForgottenPassword.as_view(), name="forgotten_password"),
    path("sign-in/password/<uidb64>/<token>", password_reset.SetPassword.as_view(), name="set_password"),
    path("sign-in/token", pages.ShowAccessToken.as_view(), name="access_token"),
    path("invitation", invitation_pages.show_invitation, name="invitation"),
    path("sign-out", pages.SignOut.as_view(), name="sign_out"),
    path("language", set_language, name="set_language"),
    path("admin/", admin.site.urls),
    re_path(r"^healthz/?$", health.healthz, name="healthz"),
    re_path(r"^metrics/?$", metrics.view, name="metrics"),
    re_path(r"^readyz/?$", health.readyz, name="readyz"),
    path("", include("accounts.oauth.urls")),
    path("scim/v2/", include("orgs.scim.urls")),
    re_path(r"^api/schema/?$", api_reference.Document.as_view(), name="schema"),
    re_path(r"^api/docs/?$", api_reference.Page.as_view(), name="docs"),
    re_path(r"^api/auth/", include("accounts.urls")),
    re_path(r"^api/auth/", include("orgs.urls")),
    path("", include("rag.contracts.urls")),
    re_path(r"^(?:models|chat/completions|embeddings)/?$", error_pages.address_without_version),
    # Unknown paths below these are answered in JSON, in every mode. A base address that ends in a slash makes two.
    re_path(r"^[/]*(?:api|agent|functions|v1|metrics)(?:/|$)", error_pages.unknown_path),
]
handler403 = "ragsite.views.error_pages.forbidden"
handler404 = "ragsite.views.error_pages.not_found"
handler500 = "ragsite.views.error_pages.server_error"
handler400 = "ragsite.views.error_pages.bad_request"
