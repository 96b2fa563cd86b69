"""The whole site."""

from django.contrib import admin
from django.urls import include, path, re_path
from django.views.generic import RedirectView

from . import metrics, reference, views

admin.site.site_header = admin.site.site_title = "ragsite"
admin.site.index_title = "Administration"
admin.site.site_url = None

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index"), name="home"),
    path("admin/", admin.site.urls),
    re_path(r"^healthz/?$", views.healthz, name="healthz"),
    re_path(r"^metrics/?$", metrics.view, name="metrics"),
    re_path(r"^readyz/?$", views.readyz, name="readyz"),
    re_path(r"^api/schema/?$", reference.Document.as_view(), name="schema"),
    re_path(r"^api/docs/?$", reference.Page.as_view(), name="docs"),
    re_path(r"^api/auth/", include("accounts.urls")),
    re_path(r"^api/auth/", include("orgs.urls")),
    path("", include("rag.contracts.urls")),
    # Below these nothing answers in HTML, whatever the mode.
    re_path(r"^(?:api|agent|functions|metrics)(?:/|$)", views.unknown_path),
]
handler404 = "ragsite.views.not_found"
handler500 = "ragsite.views.server_error"
handler400 = "ragsite.views.bad_request"
