"""Health, and the answers that Django itself gives: as JSON on the paths of the contracts, as a page elsewhere."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views import defaults
from django.views.decorators.csrf import csrf_exempt

from rag.contracts.error_responses import refusal, speaks_json
from rag.services.operations import health


def healthz(request: HttpRequest) -> JsonResponse:
    """200 while the process serves requests."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    """200 when everything that a request needs answers, else 503; each named."""
    checks = health.check_components()
    ready = all(checks.values())
    return JsonResponse({"status": "ok" if ready else "unavailable", **checks}, status=200 if ready else 503)


@csrf_exempt
def unknown_path(request: HttpRequest) -> JsonResponse:
    return refusal(request, 404, f"There is no {request.path} here: /api/docs lists what there is.")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return defaults.page_not_found(request, exception)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if speaks_json(request):
        return refusal(request, 400, "The request is malformed.")
    return defaults.bad_request(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """The request id is in the log beside the traceback; nothing of the exception is in the answer."""
    if speaks_json(request):
        return refusal(request, 500, "Something went wrong on this side. The log has it under this request id.")
    return defaults.server_error(request)
