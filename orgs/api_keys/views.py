"""/api/auth/keys: users create, list, rotate and revoke their own API keys."""

import uuid
from datetime import timedelta

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import NotFound, PermissionDenied, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from orgs.access import organization_resolver
from orgs.access.caller import Caller, get_caller
from orgs.access.permissions import Action
from orgs.models import ApiKey, Organization
from ragsite.http import pagination, request_warnings
from ragsite.http.bodies.parsers import CredentialsParser
from ragsite.http.bodies.response_etags import ETagView
from ragsite.http.error_envelope import Conflict
from ragsite.http.openapi import COMMON_STATUSES, request_example, response_example
from ragsite.postgres.models import as_uuid

from . import key_lifecycle
from .key_lifecycle import IssuedKey
from .serializers import KeyIn, KeyRotationIn, KeysOut, NewKeyOut, key_out, new_key_out

_NEW_KEY: dict[str, object] = {
    "id": "0198c5c0-6b1e-7d44-8f0b-2d9c1e5a7f20",
    "key": "rk_ab12cd34…",
    "name": "n8n",
    "prefix": "rk_ab12cd34",
    "scopes": ["ingest"],
    "organization": "acme",
    "all_organizations": False,
    "sources": None,
    "networks": ["203.0.113.0/24"],
    "expires_at": None,
    "created_at": "2026-01-31T12:00:00Z",
}
KEY_EXAMPLE = {name: value for name, value in _NEW_KEY.items() if name != "key"}
KEY_EXAMPLE |= {"last_used_at": "2026-01-31T12:30:00Z", "revoked_at": None, "flagged_at": None}


class KeyView(APIView):
    """Base of the key endpoints. Accepts access tokens only: a key could otherwise create keys with more rights."""

    parser_classes = (CredentialsParser,)
    error_statuses = (*COMMON_STATUSES, 404)

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        super().initial(request, *args, **kwargs)
        if get_caller(request).key is not None:
            raise PermissionDenied(
                "API keys are managed with an access token, not with a key: see POST /api/auth/token."
            )


class Keys(ETagView, KeyView):
    extra_error_statuses = {"post": (409,)}

    @extend_schema(
        operation_id="listKeys",
        summary="List your API keys",
        description="Includes revoked and expired keys. The keys themselves are not shown again.",
        parameters=pagination.parameters("page_size"),
        responses={200: KeysOut},
        examples=[response_example({"keys": [KEY_EXAMPLE], "page": 1, "page_size": 50, "total": 1}, "Keys")],
    )
    def get(self, request: Request) -> Response:
        request_warnings.warn_of_unknown_parameters(request.query_params, ("page", "page_size"))
        keys = ApiKey.objects.filter(
            user=get_caller(request).authenticated_user, organization__in=Organization.objects.all()
        ).select_related("organization")
        page = pagination.paginate(request, keys, size_name="page_size")
        return Response({"keys": [key_out(key) for key in page.items], **page.numbers})

    @extend_schema(
        operation_id="makeKey",
        summary="Create an API key",
        description="`key` is shown only in this response. Members of one organisation may omit `organization`. "
        "The key acts in this organisation only, unless `all_organizations` is true. `sources` (ids or slugs of the "
        "organisation's data sources) and `networks` (CIDR) restrict the key to them.",
        request=KeyIn,
        responses={201: NewKeyOut},
        examples=[
            request_example({"name": "n8n", "scopes": ["ingest"]}, "Key"),
            response_example(_NEW_KEY, "Key", status=201),
        ],
    )
    def post(self, request: Request) -> Response:
        form = KeyIn(data=request.data)
        form.is_valid(raise_exception=True)
        values = form.validated_data
        organization = _organization(request, values.get("organization", ""))
        try:
            issued = key_lifecycle.issue(
                user=get_caller(request).authenticated_user,
                organization=organization,
                name=values["name"],
                scopes=values["scopes"],
                sources=_find_source_ids(get_caller(request), organization, values.get("sources")),
                networks=values.get("networks"),
                all_organizations=values["all_organizations"],
                expires_at=values.get("expires_at"),
            )
        except key_lifecycle.TooManyKeys as error:
            raise Conflict(str(error)) from None
        return _new_key_response(issued)


class Key(KeyView):
    path_names = {"key_id": "id"}

    @extend_schema(
        operation_id="revokeKey",
        summary="Revoke an API key",
        description="The key is refused from the next request on. Revoking it again changes nothing.",
        parameters=[OpenApiParameter("id", OpenApiTypes.UUID, OpenApiParameter.PATH)],
        responses={204: None},
    )
    def delete(self, request: Request, key_id: str) -> Response:
        key_lifecycle.revoke_own(_get_key(request, key_id))
        return Response(status=204)


class Rotation(KeyView):
    path_names = {"key_id": "id"}
    extra_error_statuses = {"post": (409,)}

    @extend_schema(
        operation_id="rotateKey",
        summary="Replace an API key",
        description="Issues a successor with the same permissions and lifetime. The replaced key expires after "
        "`overlap_hours`, unless it expires earlier. `key` is shown only in this response.",
        request=KeyRotationIn,
        parameters=[OpenApiParameter("id", OpenApiTypes.UUID, OpenApiParameter.PATH)],
        responses={201: NewKeyOut},
        examples=[
            request_example({"overlap_hours": 24}, "Overlap"),
            response_example(_NEW_KEY, "Successor", status=201),
        ],
    )
    def post(self, request: Request, key_id: str) -> Response:
        form = KeyRotationIn(data=request.data)
        form.is_valid(raise_exception=True)
        key = _get_key(request, key_id)
        try:
            issued = key_lifecycle.rotate(key, overlap=timedelta(hours=form.validated_data["overlap_hours"]))
        except (key_lifecycle.InactiveKey, key_lifecycle.TooManyKeys) as error:
            raise Conflict(str(error)) from None
        return _new_key_response(issued)


def _new_key_response(issued: IssuedKey) -> Response:
    """Render a new key. No cache may store the response, because it contains the key."""
    return Response(new_key_out(issued), status=201, headers={"Cache-Control": "no-store"})


def _get_key(request: Request, key_id: str) -> ApiKey:
    """Find a key of the user. Raises NotFound for unknown keys and those of other users."""
    key = as_uuid(key_id)
    api_key: ApiKey | None = (
        ApiKey.objects.filter(user=get_caller(request).authenticated_user, pk=key).first() if key else None
    )
    if api_key is None:
        raise NotFound("You have no such API key.")
    return api_key


def _find_source_ids(
    caller: Caller, organization: Organization, references: list[str] | None
) -> list[uuid.UUID] | None:
    """Return the ids of the data sources with these ids or slugs; None for None.

    Raises:
        ValidationError: If the caller may not see one of them.
    """
    if references is None:
        return None
    visible_sources = organization.sources.visible_to(caller, Action.VIEW)
    source_ids = [
        visible_sources.filter(organization_resolver.match_reference(reference)).values_list("pk", flat=True).first()
        for reference in references
    ]
    if None in source_ids:
        message = f"entry {source_ids.index(None) + 1} is not a data source of {organization.slug} that you may see"
        raise ValidationError({"sources": message})
    return [source_id for source_id in source_ids if source_id]


def _organization(request: Request, field: str) -> Organization:
    """Return the organisation named in the body, else in the header, else the only one of the caller."""
    where = "organization" if field else organization_resolver.HEADER
    reference = field or organization_resolver.read_header(request)
    try:
        if reference:
            return organization_resolver.get_organization(
                get_caller(request).authenticated_user, reference, where=where
            )
        return organization_resolver.get_only_organization(get_caller(request).authenticated_user)
    except organization_resolver.OrganizationUndecided as error:
        raise ValidationError({where: str(error)}) from None
    except organization_resolver.NoOrganization as error:
        raise PermissionDenied(str(error)) from None
