"""Django's own error responses: JSON on the paths of the contracts, HTML elsewhere."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views import defaults
from django.views.decorators.csrf import csrf_exempt

from rag.contracts.error_responses import error_response, returns_json


@csrf_exempt
def unknown_path(request: HttpRequest) -> JsonResponse:
    """404 for API paths that do not exist, also with DEBUG."""
    return error_response(request, 404, f"There is no {request.path} here: /api/docs lists what there is.")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The 404 page of paths outside of the contracts (handler404)."""
    return defaults.page_not_found(request, exception)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The response to a malformed request (handler400)."""
    if returns_json(request):
        return error_response(request, 400, "The request is malformed.")
    return defaults.bad_request(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """The response to an unexpected exception (handler500).

    It contains nothing of the exception, only the request id, by which the log entry is found.
    """
    if returns_json(request):
        return error_response(request, 500, "Something went wrong on this side. The log has it under this request id.")
    return defaults.server_error(request)
