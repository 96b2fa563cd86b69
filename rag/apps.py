from django.apps import AppConfig


class RagConfig(AppConfig):
    name = "rag"
    verbose_name = "Retrieval"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from .models import audit_registry

        audit_registry.register()
