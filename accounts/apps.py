from django.apps import AppConfig, apps
from django.conf import settings
from django.contrib.admin import apps as admin_apps
from django.db.models.signals import post_migrate, pre_migrate
from django.utils.translation import gettext_lazy as _


class AdminConfig(admin_apps.SimpleAdminConfig):
    """Django's admin with this project's sign-in. Its pages are imported with the URLs: workers do not need them."""

    default = False
    default_site = "accounts.sign_in.admin_site.Site"


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = _("Accounts")
    default = True
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.core.checks import Tags, register
        from rest_framework_simplejwt import state
        from rest_framework_simplejwt.settings import api_settings

        from ragsite.postgres.replicas.checks import check_replica_addresses
        from ragsite.postgres.roles.checks import check_public_functions
        from ragsite.postgres.roles.preparation import prepare_roles
        from ragsite.postgres.versions.running_versions import refuse_while_other_versions_run

        from . import audited_events, model_translations
        from . import settings_checks as settings_checks
        from .sign_in.jwt_keys import MultiKeyTokenBackend

        # The library has no setting for the backend. All token classes read it from here.
        state.token_backend = MultiKeyTokenBackend(api_settings, settings.RAG_JWT_OLD_SIGNING_KEYS)
        register(check_replica_addresses, Tags.security)
        register(check_public_functions, "roles", deploy=True)  # asks the database, unlike those of Tags.security
        audited_events.register()
        pre_migrate.connect(refuse_while_other_versions_run, sender=self)
        post_migrate.connect(prepare_roles, sender=self)
        model_translations.translate_model_texts()
        # The heading of its page in the admin: what it is for, not the name of the library.
        apps.get_app_config("axes").verbose_name = _("Sign-in protection")
