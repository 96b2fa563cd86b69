"""Webhooks: /api/rag/webhooks (an addition to the pipeline contract)."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import action
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.access.permissions import Scope
from rag.contracts.common import page_or_cursor
from rag.contracts.common.base import get_caller, organization, organization_to_write, validate, validate_query
from rag.contracts.pipeline.base import PipelineViewSet
from rag.models import Webhook
from rag.services.webhooks import endpoints
from ragsite.http import request_warnings
from ragsite.http.openapi import request_example, response_example
from ragsite.postgres.models import as_uuid

from . import examples, serializers

_ID = [OpenApiParameter("id", OpenApiTypes.UUID, OpenApiParameter.PATH)]
# No cache may store a response with a secret.
_NO_STORE = {"Cache-Control": "no-store"}


class Webhooks(PipelineViewSet):
    """Create, show, change and delete webhooks; list what was sent."""

    scopes = dict.fromkeys(("GET", "POST", "PATCH", "DELETE"), Scope.MANAGE)
    path_names = {"webhook_id": "id"}
    lookup_url_kwarg = "webhook_id"
    lookup_value_regex = "[^/]+"

    @extend_schema(
        operation_id="listWebhooks",
        summary="List webhooks",
        description="Requires the permission sources.manage; without it the list is empty.",
        parameters=page_or_cursor.PARAMETERS,
        responses={200: serializers.WebhookListOut},
        examples=[
            response_example({"webhooks": [examples.WEBHOOK], "page": 1, "pageSize": 50, "total": 1}, "Webhooks")
        ],
    )
    def list(self, request: Request) -> Response:
        names = [parameter.name for parameter in page_or_cursor.PARAMETERS]
        request_warnings.warn_of_unknown_parameters(request.query_params, names)
        webhooks = endpoints.list_webhooks(get_caller(request), organization=organization(request))
        page = page_or_cursor.paginate(request, webhooks)
        return Response(
            {"webhooks": [serializers.webhook_out(webhook) for webhook in page.items], **page.numbers},
            headers=page.headers,
        )

    @extend_schema(
        operation_id="createWebhook",
        summary="Create a webhook",
        description="Requires the permission sources.manage. `secret` is shown only in this response.",
        request=serializers.WebhookIn,
        responses={201: serializers.NewWebhookOut},
        examples=[
            request_example(examples.NEW_WEBHOOK, "Webhook"),
            response_example(examples.WEBHOOK_WITH_SECRET, "Webhook", status=201),
        ],
    )
    def create(self, request: Request) -> Response:
        settings = serializers.build_settings(validate(serializers.WebhookIn, request.data))
        webhook, secret = endpoints.create_webhook(
            get_caller(request), settings, organization=organization_to_write(request)
        )
        return Response(serializers.new_webhook_out(webhook, secret), status=201, headers=_NO_STORE)

    @extend_schema(
        operation_id="getWebhook",
        summary="Show a webhook",
        parameters=_ID,
        responses={200: serializers.WebhookOut},
        examples=[response_example(examples.WEBHOOK, "Webhook")],
    )
    def retrieve(self, request: Request, webhook_id: str) -> Response:
        return Response(serializers.webhook_out(_get_webhook(request, webhook_id)))

    @extend_schema(
        operation_id="changeWebhook",
        summary="Change a webhook",
        description="Fields that are not sent keep their values. `isActive: true` switches a webhook on again.",
        parameters=_ID,
        request=serializers.WebhookChangeIn,
        responses={200: serializers.WebhookOut},
        examples=[request_example({"isActive": True}, "Webhook"), response_example(examples.WEBHOOK)],
    )
    def partial_update(self, request: Request, webhook_id: str) -> Response:
        settings = serializers.build_settings(validate(serializers.WebhookChangeIn, request.data))
        webhook = endpoints.update_webhook(_get_webhook(request, webhook_id), settings)
        return Response(serializers.webhook_out(webhook))

    @extend_schema(operation_id="deleteWebhook", summary="Delete a webhook", parameters=_ID, responses={204: None})
    def destroy(self, request: Request, webhook_id: str) -> Response:
        endpoints.delete_webhook(_get_webhook(request, webhook_id))
        return Response(status=204)

    @extend_schema(
        operation_id="rotateWebhookSecret",
        summary="Replace a webhook's secret",
        description="`secret` is shown only in this response. For 24 hours messages are signed with both secrets.",
        parameters=_ID,
        request=None,
        responses={201: serializers.NewWebhookOut},
        examples=[response_example(examples.WEBHOOK_WITH_SECRET, "Webhook", status=201)],
    )
    @action(detail=True, methods=["post"])
    def rotate(self, request: Request, webhook_id: str) -> Response:
        webhook = _get_webhook(request, webhook_id)
        secret = endpoints.rotate_secret(webhook)
        return Response(serializers.new_webhook_out(webhook, secret), status=201, headers=_NO_STORE)

    @extend_schema(
        operation_id="testWebhook",
        summary="Send a test event",
        description="Sends the event `webhook.test`. The list of deliveries shows the outcome.",
        parameters=_ID,
        request=None,
        responses={202: serializers.DeliveryOut},
        examples=[response_example(examples.DELIVERY, "Delivery", status=202)],
    )
    @action(detail=True, methods=["post"])
    def test(self, request: Request, webhook_id: str) -> Response:
        delivery = endpoints.send_test(_get_webhook(request, webhook_id))
        return Response(serializers.delivery_out(delivery), status=202)

    @extend_schema(
        operation_id="listWebhookDeliveries",
        summary="List what was sent to a webhook",
        description="Newest first. Deliveries are kept for 30 days, and at most 10,000 of a webhook.",
        parameters=[*_ID, serializers.DeliveryListIn, *page_or_cursor.PARAMETERS],
        responses={200: serializers.DeliveryListOut},
        examples=[
            response_example({"deliveries": [examples.DELIVERY], "page": 1, "pageSize": 50, "total": 1}, "Deliveries")
        ],
    )
    @action(detail=True)
    def deliveries(self, request: Request, webhook_id: str) -> Response:
        filters = validate_query(request, serializers.DeliveryListIn, others=page_or_cursor.PARAMETERS)
        rows = endpoints.list_deliveries(_get_webhook(request, webhook_id), state=filters.get("status", ""))
        page = page_or_cursor.paginate(request, rows)
        return Response(
            {"deliveries": [serializers.delivery_out(row) for row in page.items], **page.numbers}, headers=page.headers
        )


def _get_webhook(request: Request, webhook_id: str) -> Webhook:
    """Return the webhook that the request shows or, in the organisation that it may write to, changes."""
    find_organization = organization if request.method in SAFE_METHODS else organization_to_write
    return endpoints.get_webhook(get_caller(request), as_uuid(webhook_id), organization=find_organization(request))
