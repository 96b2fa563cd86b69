from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class RagConfig(AppConfig):
    name = "rag"
    verbose_name = _("Retrieval")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.db.backends.signals import connection_created

        from ragsite.observability import tracing

        from .models import audited_events

        audited_events.register()
        connection_created.connect(tracing.trace_connection)
