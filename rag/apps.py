import gc

from django.apps import AppConfig
from django.core.checks import CheckMessage, register
from django.utils.translation import gettext_lazy as _


class RagConfig(AppConfig):
    name = "rag"
    verbose_name = _("Retrieval")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.db.backends.signals import connection_created

        from ragsite.observability import tracing

        from .models import audited_events

        register(_check_addresses, "services", deploy=True)
        register(_check_tesseract, "settings")
        audited_events.register()
        connection_created.connect(tracing.trace_connection)
        gc.freeze()  # what is imported stays
        gc.enable()  # ragsite.settings, with which the start begins, has disabled it


def _check_addresses(**_: object) -> list[CheckMessage]:
    from .services.operations.readiness_checks import check_addresses  # imports what only this check needs

    return check_addresses()


def _check_tesseract(**_: object) -> list[CheckMessage]:
    from .services.ingestion.check_tesseract_setting import check_tesseract

    return check_tesseract()
