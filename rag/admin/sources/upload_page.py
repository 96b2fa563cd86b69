"""The page "Upload documents" of a data source: drag and drop of files and folders."""

import json
from functools import partial

from django.conf import settings
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation, TooManyFilesSent
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.translation import gettext
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from orgs.access.caller import get_caller
from rag.admin.base import find_source
from rag.contracts.common.rate_limits import INGESTIONS
from rag.errors import RagError, UnknownJob
from rag.models import Action, DataSource, IngestionJob
from rag.models.content.documents import MAX_PATH_BYTES
from rag.pages.base import rate_limited, wants_json
from rag.services.ingestion import build_submissions
from rag.services.jobs import job_lookup
from rag.services.jobs.submit_documents import build_upload, rewind, submit_documents
from ragsite.http.bodies.upload_handler import PayloadTooLarge, SpooledUploadHandler
from ragsite.postgres.models import as_uuid, is_storable

_MAX_LISTED_FAILURES = 20


class _UploadRejected(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class UploadPageMixin:
    """Adds …/<id>/upload/ to the admin of data sources, for users who may send documents to the source."""

    admin_site: AdminSite

    def get_urls(self) -> list[URLPattern]:
        # Exempt until the upload handler is set: reading the form's CSRF token reads the files as well.
        view = self.admin_site.admin_view(csrf_exempt(rate_limited(INGESTIONS)(self.upload)))
        inherited: list[URLPattern] = super().get_urls()  # type: ignore[misc]  # a mixin of ModelAdmin
        return [path("<path:object_id>/upload/", view, name="rag_datasource_upload"), *inherited]

    def upload(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show the page or handle an upload. A request that exceeds a limit gets the page with a message."""
        spool = SpooledUploadHandler(request)
        request.upload_handlers = [spool]
        try:
            with spool.closed_on_failure():
                return self._upload(request, object_id)
        except PayloadTooLarge as error:
            rejection = _UploadRejected(413, str(error.detail))
        except RequestDataTooBig:
            rejection = _UploadRejected(
                413,
                gettext("The fields other than the files may have at most {rag_max_body_bytes} bytes.").format(
                    rag_max_body_bytes=intcomma(settings.RAG_MAX_BODY_BYTES)
                ),
            )
        except TooManyFilesSent:
            rejection = _UploadRejected(
                400,
                gettext("At most {data_upload_max_number_files} files are accepted in one request.").format(
                    data_upload_max_number_files=settings.DATA_UPLOAD_MAX_NUMBER_FILES
                ),
            )
        except SuspiciousOperation:
            rejection = _UploadRejected(400, gettext("The form could not be read. Reload the page and try again."))
        return self._reject(request, _get_source(request, object_id), rejection)

    @method_decorator(csrf_protect)
    def _upload(self, request: HttpRequest, object_id: str) -> HttpResponse:
        source = _get_source(request, object_id)
        if request.method != "POST":
            return _show_progress(request) if "job" in request.GET else self._render_page(request, source)
        try:
            job = _submit(request, source)
        except _UploadRejected as error:
            return self._reject(request, source, error)
        url = _job_url(request, job)
        if wants_json(request):
            return JsonResponse({"job": str(job.pk), "url": url})
        job_link = format_html('<a href="{}">{}</a>', url, job.pk) if url else str(job.pk)
        messages.success(request, format_html(gettext("Uploaded. Job {} ingests the documents."), job_link))
        return HttpResponseRedirect(request.path)

    def _reject(self, request: HttpRequest, source: DataSource, rejection: _UploadRejected) -> HttpResponse:
        if wants_json(request):
            return JsonResponse({"message": str(rejection)}, status=rejection.status)
        messages.error(request, str(rejection))
        return self._render_page(request, source, status=rejection.status)

    def _render_page(self, request: HttpRequest, source: DataSource, *, status: int = 200) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("Upload documents to {name}").format(name=source.name),
            "opts": DataSource._meta,
            "source": source,
            "may_manage": find_source(request, source.pk, Action.MANAGE) is not None,
            **upload_context(source),
        }
        return TemplateResponse(request, "admin/rag/datasource/upload.html", context, status=status)


def upload_context(source: DataSource) -> dict[str, object]:
    """Return what the form for uploads needs, on this page and on that of the source."""
    return {
        "upload_url": reverse("admin:rag_datasource_upload", args=[source.pk]),
        "max_files": min(settings.DATA_UPLOAD_MAX_NUMBER_FILES, settings.RAG_MAX_DOCUMENTS_PER_JOB),
        "max_file_bytes": settings.RAG_MAX_FILE_BYTES,
        "max_bytes": settings.RAG_MAX_UPLOAD_BYTES,
    }


def _show_progress(request: HttpRequest) -> JsonResponse:
    """Say how far a job is, for the script that follows the upload until its documents are searchable."""
    job_id = as_uuid(request.GET["job"])
    try:
        if job_id is None:
            raise UnknownJob
        job = job_lookup.get_job(get_caller(request), job_id)
    except UnknownJob:
        raise Http404 from None
    failures = [
        {"path": failed.path, "message": failed.error_message}
        for failed in job_lookup.list_failures(job, _MAX_LISTED_FAILURES)
    ]
    is_open = job.status in IngestionJob.OPEN_STATUSES
    counts = {"total": job.total, "done": job.done, "failed": job.failed, "chunks": job.chunks}
    return JsonResponse({"is_open": is_open, "failures": failures, **counts})


def _get_source(request: HttpRequest, object_id: str) -> DataSource:
    source = find_source(request, object_id, Action.INGEST)
    if source is None:
        raise Http404
    return source


def _submit(request: HttpRequest, source: DataSource) -> IngestionJob:
    """Submit a job of the uploaded files, or raise _UploadRejected with a message for the page."""
    files = request.FILES.getlist("files")
    if not files:
        raise _UploadRejected(400, gettext("Choose at least one file."))
    if not any(file.size for file in files):
        raise _UploadRejected(400, gettext("{name} is empty.").format(name=files[0].name))
    paths = _paths(request, files)
    documents = [
        build_upload(path, open_content=partial(rewind, file), content_type=_content_type(file))
        for path, file in zip(paths, files, strict=True)
    ]
    try:
        return submit_documents(
            source=source,
            documents=documents,
            options=build_submissions.default_chunking_options(),
            actor=get_caller(request).authenticated_user,
        )
    except RagError as error:
        raise _UploadRejected(400, error.message) from error


def _content_type(file: "UploadedFile[bytes]") -> str:
    """Return the type that the browser declares; empty if it cannot be stored: then the content says it."""
    declared = (file.content_type or "")[:200]
    return declared if is_storable(declared) else ""


def _paths(request: HttpRequest, files: "list[UploadedFile[bytes]]") -> list[str]:
    """Return the paths of the files in the dragged folder, which the page's script sends; without it their names."""
    names = [file.name or "" for file in files]
    try:
        paths = json.loads(request.POST["paths"]) if request.POST.get("paths") else names
    except (ValueError, RecursionError):
        paths = None
    if not isinstance(paths, list) or len(paths) != len(files):
        raise _UploadRejected(400, gettext("The form could not be read. Reload the page and try again."))
    if wrong := [path for path in paths if not _is_path(path)]:
        raise _UploadRejected(
            400,
            gettext(
                "Rename {name}: a path needs 1 to {max_path_bytes} bytes, and no line breaks or invisible characters."
            ).format(name=_printable(wrong[0]), max_path_bytes=intcomma(MAX_PATH_BYTES)),
        )
    if duplicate := next((path for number, path in enumerate(paths) if path in paths[:number]), None):
        raise _UploadRejected(
            400,
            gettext("Two files have the path {duplicate}: one would replace the other.").format(duplicate=duplicate),
        )
    return paths


def _is_path(path: object) -> bool:
    if not isinstance(path, str) or not path.strip() or not path.isprintable():
        return False
    return len(path.encode(errors="replace")) <= MAX_PATH_BYTES


def _printable(path: object) -> str:
    """Return the beginning of a path in which each character that cannot be seen is replaced."""
    replacement = "\N{REPLACEMENT CHARACTER}"
    return "".join(character if character.isprintable() else replacement for character in str(path)[:200])


def _job_url(request: HttpRequest, job: IngestionJob) -> str:
    """Return the URL of the job's page; empty if this request's user may not see it."""
    is_visible = IngestionJob.objects.visible_to(get_caller(request), Action.MANAGE).filter(pk=job.pk).exists()
    return reverse("admin:rag_ingestionjob_change", args=[job.pk]) if is_visible else ""
