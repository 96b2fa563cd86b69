"""The action "Parse again" of documents and of data sources."""

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from orgs.access.caller import get_caller
from rag.errors import RagError
from rag.models import Document
from rag.services.jobs import reparsing

_NOTHING_QUEUED = _(
    "No document was queued. The documents were deleted or are already being ingested, or "
    "you may not send documents to their data source."
)


def reparse(model_admin: "admin.ModelAdmin[Model]", request: HttpRequest, documents: QuerySet[Document]) -> None:
    """Queue the documents to be parsed again, and show the outcome as a message of the page.

    Documents of sources that the user may not send documents to are skipped.
    """
    try:
        jobs = reparsing.reparse_documents(get_caller(request), documents)
    except RagError as error:
        model_admin.message_user(request, error.message, messages.ERROR)
        return
    if not jobs:
        model_admin.message_user(request, _NOTHING_QUEUED, messages.WARNING)
        return
    count = sum(job.documents.count() for job in jobs)
    text = ngettext(
        "Queued {count} document to be parsed again. The page Jobs shows the progress.",
        "Queued {count} documents to be parsed again. The page Jobs shows the progress.",
        count,
    )
    model_admin.message_user(request, text.format(count=count), messages.SUCCESS)
