"""URLs of the site."""

from django.contrib import admin
from django.urls import include, path, re_path
from django.views.generic import RedirectView

from .views import api_reference, errors, health, metrics

admin.site.site_header = admin.site.site_title = "ragsite"
admin.site.index_title = "Administration"
admin.site.site_url = None

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index"), name="home"),
    path("admin/", admin.site.urls),
    re_path(r"^healthz/?$", health.healthz, name="healthz"),
    re_path(r"^metrics/?$", metrics.view, name="metrics"),
    re_path(r"^readyz/?$", health.readyz, name="readyz"),
    re_path(r"^api/schema/?$", api_reference.Document.as_view(), name="schema"),
    re_path(r"^api/docs/?$", api_reference.Page.as_view(), name="docs"),
    re_path(r"^api/auth/", include("accounts.urls")),
    re_path(r"^api/auth/", include("orgs.urls")),
    path("", include("rag.contracts.urls")),
    # Unknown paths below these are answered in JSON, in every mode.
    re_path(r"^(?:api|agent|functions|metrics)(?:/|$)", errors.unknown_path),
]
handler404 = "ragsite.views.errors.not_found"
handler500 = "ragsite.views.errors.server_error"
handler400 = "ragsite.views.errors.bad_request"
