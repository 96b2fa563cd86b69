"""Django's admin, with our own site."""

from django.contrib.admin import apps


class AdminConfig(apps.AdminConfig):
    default_site = "accounts.admin_site.Site"
