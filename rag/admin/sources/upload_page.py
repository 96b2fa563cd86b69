"""The page of a data source to which files are dragged."""

import json
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation, TooManyFilesSent
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from accounts.models import User
from orgs.access.caller import get_caller
from rag.errors import RagError
from rag.models import Action, DataSource, IngestionJob
from rag.models.content.documents import MAX_PATH_BYTES
from rag.services.ingestion import inputs
from rag.services.jobs import uploads
from ragsite.http.uploads import PayloadTooLarge, Spool
from ragsite.postgres.models import as_uuid


class _Refused(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class UploadPage:
    """For the admin of data sources: …/<id>/upload/, for those who may send documents to the source."""

    admin_site: Any

    def get_urls(self) -> list[Any]:
        # Exempt only until the place for the files is made: reading the form's token reads the files as well.
        view = self.admin_site.admin_view(csrf_exempt(self.upload))
        inherited: list[Any] = super().get_urls()  # type: ignore[misc]
        return [path("<path:object_id>/upload/", view, name="rag_datasource_upload"), *inherited]

    def upload(self, request: HttpRequest, object_id: str) -> HttpResponse:
        spool = Spool(request)
        request.upload_handlers = [spool]
        try:
            with spool.closed_on_failure():
                return self._upload(request, object_id)
        except PayloadTooLarge as error:
            refused = _Refused(413, str(error.detail))
        except RequestDataTooBig:
            refused = _Refused(413, f"At most {settings.RAG_MAX_BODY_BYTES:,} bytes beside the files are accepted.")
        except TooManyFilesSent:
            refused = _Refused(400, f"At most {settings.DATA_UPLOAD_MAX_NUMBER_FILES} files go into one request.")
        except SuspiciousOperation:
            refused = _Refused(400, "The form could not be read. Load the page again.")
        return self._answer_refused(request, _to_ingest(request, object_id), refused)

    @method_decorator(csrf_protect)
    def _upload(self, request: HttpRequest, object_id: str) -> HttpResponse:
        source = _to_ingest(request, object_id)
        if request.method != "POST":
            return self._page(request, source)
        try:
            job = _job(request, source)
        except _Refused as refused:
            return self._answer_refused(request, source, refused)
        address = _address(request, job)
        if _wants_json(request):
            return JsonResponse({"job": str(job.pk), "address": address})
        shown = format_html('<a href="{}">{}</a>', address, job.pk) if address else str(job.pk)
        messages.success(request, format_html("Sent. The job {} is at work on it.", shown))
        return HttpResponseRedirect(request.path)

    def _answer_refused(self, request: HttpRequest, source: DataSource, refused: _Refused) -> HttpResponse:
        if _wants_json(request):
            return JsonResponse({"message": str(refused)}, status=refused.status)
        messages.error(request, str(refused))
        return self._page(request, source, status=refused.status)

    def _page(self, request: HttpRequest, source: DataSource, *, status: int = 200) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": f"Upload documents to {source.name}",
            "opts": DataSource._meta,
            "source": source,
            "may_manage": DataSource.objects.visible_to(get_caller(request), Action.MANAGE)
            .filter(pk=source.pk)
            .exists(),
            "most_files": min(settings.DATA_UPLOAD_MAX_NUMBER_FILES, settings.RAG_MAX_DOCUMENTS_PER_JOB),
            "most_file_bytes": settings.RAG_MAX_FILE_BYTES,
            "most_bytes": settings.RAG_MAX_UPLOAD_BYTES,
        }
        return TemplateResponse(request, "admin/rag/datasource/upload.html", context, status=status)


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def _to_ingest(request: HttpRequest, object_id: str) -> DataSource:
    allowed = DataSource.objects.visible_to(get_caller(request), Action.INGEST).select_related("organization")
    key = as_uuid(object_id)
    source = allowed.filter(pk=key).first() if key else None
    if source is None:
        raise Http404
    return source


def _job(request: HttpRequest, source: DataSource) -> IngestionJob:
    files = request.FILES.getlist("files")
    if not files:
        raise _Refused(400, "Choose at least one file.")
    if empty := next((file for file in files if not file.size), None):
        raise _Refused(400, f"{empty.name} is empty.")
    paths = _paths(request, files)
    documents = [
        uploads.build_upload(path, open_content=partial(uploads.rewind, file), content_type=(file.content_type or "")[:200])
        for path, file in zip(paths, files, strict=True)
    ]
    try:
        return uploads.submit_documents(
            source=source, documents=documents, options=inputs.default_chunking_options(), actor=_user(request)
        )
    except RagError as error:
        raise _Refused(400, error.message) from error


def _paths(request: HttpRequest, files: list[UploadedFile]) -> list[str]:
    """Where the files lay in the folder that was dragged, as the page's script says; else their names."""
    names = [file.name or "" for file in files]
    try:
        paths = json.loads(request.POST["paths"]) if request.POST.get("paths") else names
    except (ValueError, RecursionError):
        paths = None
    if not isinstance(paths, list) or len(paths) != len(files) or not all(map(_is_path, paths)):
        raise _Refused(400, f"Each file needs a path of at most {MAX_PATH_BYTES:,} bytes.")
    if twice := next((each for number, each in enumerate(paths) if each in paths[:number]), None):
        raise _Refused(400, f"Two files are called {twice}: one would replace the other.")
    return paths


def _is_path(path: Any) -> bool:
    if not isinstance(path, str) or not path.strip() or not path.isprintable():
        return False
    return len(path.encode(errors="replace")) <= MAX_PATH_BYTES


def _address(request: HttpRequest, job: IngestionJob) -> str:
    """The job's page, for those who may see it."""
    seen = IngestionJob.objects.visible_to(get_caller(request), Action.MANAGE).filter(pk=job.pk).exists()
    return reverse("admin:rag_ingestionjob_change", args=[job.pk]) if seen else ""


def _wants_json(request: HttpRequest) -> bool:
    return request.headers.get("Accept", "").startswith("application/json")
