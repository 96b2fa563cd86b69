"""/api/auth/member-keys: administrators list and revoke the API keys of their organisations' members."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import User
from orgs.access import organization_resolver
from orgs.access.caller import get_caller
from orgs.access.permissions import Permission
from orgs.models import ApiKey
from orgs.models.api_keys import ApiKeyQuerySet
from ragsite.http import pagination, request_warnings
from ragsite.http.bodies.response_etags import ETagView
from ragsite.http.openapi import response_example
from ragsite.postgres.models import as_uuid

from . import key_lifecycle
from .serializers import MemberKeysOut, member_key_out
from .views import KEY_EXAMPLE, KeyView

_KEY = {**KEY_EXAMPLE, "user": "ada@acme.example"}


class MemberKeys(ETagView, KeyView):
    @extend_schema(
        operation_id="listMemberKeys",
        summary="List the API keys of members",
        description="The keys of all members of the organisations in which you have `members.manage`, or of the one "
        "that the header `X-Organization` names. Includes revoked and expired keys.",
        parameters=pagination.parameters("page_size"),
        responses={200: MemberKeysOut},
        examples=[response_example({"keys": [_KEY], "page": 1, "page_size": 50, "total": 1}, "Keys")],
    )
    def get(self, request: Request) -> Response:
        request_warnings.warn_of_unknown_parameters(request.query_params, ("page", "page_size"))
        keys = _managed_keys(request).select_related("organization")
        page = pagination.paginate(request, keys, size_name="page_size")
        # A former member's account is not visible any more.
        users = User.objects.in_bulk({key.user_id for key in page.items})
        return Response({"keys": [member_key_out(key, users.get(key.user_id)) for key in page.items], **page.numbers})


class MemberKey(KeyView):
    path_names = {"key_id": "id"}

    @extend_schema(
        operation_id="revokeMemberKey",
        summary="Revoke a member's API key",
        description="The key is refused from the next request on. Revoking it again changes nothing.",
        parameters=[OpenApiParameter("id", OpenApiTypes.UUID, OpenApiParameter.PATH)],
        responses={204: None},
    )
    def delete(self, request: Request, key_id: str) -> Response:
        pk = as_uuid(key_id)
        key = _managed_keys(request).filter(pk=pk).first() if pk else None
        if key is None:
            raise NotFound("No member of your organisations has such an API key.")
        key_lifecycle.revoke(ApiKey.objects.filter(pk=key.pk))
        return Response(status=204)


def _managed_keys(request: Request) -> ApiKeyQuerySet:
    """Return the keys that the page of the admin shows this user.

    Raises:
        PermissionDenied: If the user may see the keys of no organisation.
    """
    user = get_caller(request).authenticated_user
    organizations = organization_resolver.organizations_with_permission(user, Permission.MEMBERS_MANAGE)
    if reference := organization_resolver.read_header(request):
        organizations = organizations.filter(organization_resolver.match_reference(reference))
    if not organizations.exists():
        raise PermissionDenied("This needs the permission `members.manage` in the organisation.")
    keys: ApiKeyQuerySet = ApiKey.objects.filter(organization__in=organizations.values("pk"))
    return keys
