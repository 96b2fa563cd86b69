"""The navigation of the admin: its lists in groups named after tasks, instead of one group for each Django app."""

from typing import cast

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.sign_in.admin_site import ListedApp, ListedModel, Site
from orgs.access.permissions import Permission
from orgs.admin.bases.request_permissions import holds_permission

_GROUPS: tuple[tuple[object, tuple[str, ...]], ...] = (
    (
        _("Content"),
        (
            *("rag.DataSource", "rag.Document", "rag.IngestionJob", "rag.IngestionDocument"),
            *("rag.SyncConnection", "rag.SyncRun"),
        ),
    ),
    (
        _("People and access"),
        (
            *("orgs.Membership", "orgs.Invitation", "orgs.Team", "orgs.Role", "matrix"),
            *("orgs.Organization", "accounts.User"),
        ),
    ),
    (_("Quality"), ("rag.GoldenQuestion", "rag.EmbeddingModel", "rag.Calibration")),
    (_("Programs"), ("orgs.ApiKey", "rag.Webhook", "rag.WebhookDelivery")),
    (_("Sign-in"), ("orgs.IdentityProvider", "orgs.SignInDomain", "orgs.LinkedIdentity", "orgs.ScimToken")),
    (_("Operation"), ("operations", "accounts.AuditEvent")),
)


def group_lists(request: HttpRequest, app_list: list[ListedApp]) -> list[ListedApp]:
    """Return Django's list of apps and models in the groups of this module; models without a group at the end."""
    entries = _other_pages(request)
    for app in app_list:
        for entry in app["models"]:
            entries[f"{app['app_label']}.{entry['object_name']}"] = entry
    groups = [(str(name), [entries.pop(key) for key in keys if key in entries]) for name, keys in _GROUPS]
    name, last = groups[-1]
    groups[-1] = (name, [*last, *entries.values()])
    if opened := [entry for _, models in groups for entry in models if request.path.startswith(entry["admin_url"])]:
        max(opened, key=lambda entry: len(entry["admin_url"]))["is_current"] = True
    return [
        {"name": name, "app_label": f"group-{number}", "app_url": "", "has_module_perms": True, "models": models}
        for number, (name, models) in enumerate(groups)
        if models
    ]


def _other_pages(request: HttpRequest) -> dict[str, ListedModel]:
    """Return the pages that belong to no model, as Django describes models."""
    pages = {}
    if holds_permission(request, Permission.SOURCES_MANAGE):
        pages["matrix"] = ("Matrix", gettext("Who can query what"), reverse("admin:rag_datasource_matrix"))
    if getattr(request.user, "is_superuser", False):
        pages["operations"] = ("Operations", gettext("Operations"), reverse("admin:operations"))
    return {
        key: {"name": name, "object_name": object_name, "admin_url": url, "add_url": None, "view_only": True}
        for key, (object_name, name, url) in pages.items()
    }


cast(Site, admin.site).register_navigation(group_lists)
