"""The endpoints at which /scim/v2 describes itself (RFC 7644, 4)."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from . import errors, resources
from .base_views import ScimView, base_address


class Description(ScimView):
    """What the service is: its configuration, types of resources and schemas."""

    def get(self, request: Request, kind: str, name: str = "") -> Response:
        base = base_address(request)
        if kind == "ServiceProviderConfig":
            return Response(resources.configuration(base))
        described = resources.resource_types(base) if kind == "ResourceTypes" else resources.schemas(base)
        if name:
            single = next((entry for entry in described if entry["id"] == name), None)
            if single is None:
                raise errors.not_found()
            return Response(single)
        counts = {"totalResults": len(described), "startIndex": 1, "itemsPerPage": len(described)}
        return Response({"schemas": [resources.LIST_SCHEMA], **counts, "Resources": described})


class Unknown(ScimView):
    """Every other path, in SCIM's format."""

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        return super().dispatch(request)

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        super().initial(request)
        raise errors.not_found()
