from django.apps import AppConfig


class OrgsConfig(AppConfig):
    name = "orgs"
    verbose_name = "Organisations"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from . import audit_registry
        from .invitations import service

        audit_registry.register()
        service.delete_with_accounts()
