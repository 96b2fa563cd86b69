from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class OrgsConfig(AppConfig):
    name = "orgs"
    verbose_name = _("Organisations")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from . import audited_events
        from .api_keys import key_lifecycle
        from .invitations import invitation_lifecycle

        audited_events.register()
        key_lifecycle.revoke_with_memberships()
        invitation_lifecycle.delete_with_accounts()
        invitation_lifecycle.end_with_memberships()
