"""The action that parses documents again, of documents and of whole sources."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from orgs.access.caller import get_caller
from rag.errors import RagError
from rag.models import Document
from rag.services.jobs import reparsing

_NOTHING = "Nothing is parsed again: the documents are deleted, on their way already, or not yours to send."


def parse_again(page: admin.ModelAdmin, request: HttpRequest, documents: QuerySet[Document]) -> None:
    """From their stored originals or texts, where the user may send documents."""
    try:
        jobs = reparsing.reparse_documents(get_caller(request), documents)
    except RagError as error:
        page.message_user(request, error.message, messages.ERROR)
        return
    if not jobs:
        page.message_user(request, _NOTHING, messages.WARNING)
        return
    count = sum(job.documents.count() for job in jobs)
    page.message_user(request, f"{count} documents are parsed again, by {len(jobs)} jobs.", messages.SUCCESS)
