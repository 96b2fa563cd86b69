"""Health checks of the web process (docs/operations)."""

from django.http import HttpRequest, JsonResponse

from rag.services.operations import readiness_checks


def healthz(request: HttpRequest) -> JsonResponse:
    """200 while the process serves requests."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    """200 if every component that requests need is available, else 503. The body has the state of each component."""
    components = readiness_checks.check_components()
    is_ready = all(components.values())
    return JsonResponse({"status": "ok" if is_ready else "unavailable", **components}, status=200 if is_ready else 503)
