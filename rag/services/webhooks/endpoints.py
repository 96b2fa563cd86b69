"""Creates, changes and deletes webhooks, for those who manage all data sources of the organisation."""

import datetime
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from orgs.access.caller import Caller
from orgs.models import Organization
from rag.errors import InvalidRequest, NotAllowed, UnknownWebhook
from rag.models import Webhook, WebhookDelivery
from rag.models.webhooks import WebhookQuerySet, managed_organizations
from rag.providers.limits.long_request_limiter import LONG_REQUESTS
from rag.services.sources.creation import resolve_target_organization
from ragsite.http import outbound_connections
from ragsite.postgres import encryption
from ragsite.postgres.locks import advisory_xact_locks

from . import events, signing

MAX_WEBHOOKS = 20
# How long the secret before a rotation signs as well.
SECRET_OVERLAP = datetime.timedelta(hours=24)
TEST_EVENT = "webhook.test"
# Nothing else bounds them: they are stored however many deliveries wait.
MAX_TESTS_AN_HOUR = 100
_MAY_NOT_MANAGE = (
    "Webhooks are for those who manage all data sources of an organisation: you need the permission sources.manage in "
    "it, and an API key that is not restricted to certain data sources."
)


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """The values that a person sets on a webhook. None leaves a value unchanged, or at its default."""

    url: str | None = None
    events: Sequence[str] | None = None
    description: str | None = None
    is_active: bool | None = None


def list_webhooks(caller: Caller, *, organization: Organization | None = None) -> WebhookQuerySet:
    """Return the webhooks that the caller may see, of one organisation if the request names one."""
    webhooks: WebhookQuerySet = Webhook.objects.visible_to(caller).select_related("organization")
    return webhooks.filter(organization=organization) if organization else webhooks


def get_webhook(caller: Caller, webhook_id: uuid.UUID | None, *, organization: Organization | None = None) -> Webhook:
    """Return a webhook.

    Raises:
        UnknownWebhook: If there is none with this id that the caller may see.
    """
    webhooks = list_webhooks(caller, organization=organization)
    webhook: Webhook | None = webhooks.filter(pk=webhook_id).first() if webhook_id else None
    if webhook is None:
        raise UnknownWebhook
    return webhook


def create_webhook(
    caller: Caller, settings: WebhookSettings, *, organization: Organization | None = None
) -> tuple[Webhook, str]:
    """Create a webhook of the named organisation, else of the caller's only one.

    Returns:
        The webhook, and its secret, which cannot be read later.

    Raises:
        NotAllowed: If the caller does not manage all sources of the organisation.
        InvalidRequest: If the address is refused, or the organisation has too many webhooks.
    """
    target = resolve_target_organization(caller, organization=organization)
    if not managed_organizations(caller).filter(pk=target.pk).exists():
        raise NotAllowed(_MAY_NOT_MANAGE)
    check_url(settings.url or "")
    secret = signing.generate_secret()
    webhook = Webhook(
        organization=target,
        url=settings.url or "",
        events=list(settings.events or ()),
        description=settings.description or "",
        is_active=settings.is_active is not False,
        secret=encryption.encrypt(secret, encryption.Purpose.WEBHOOK),
    )
    with transaction.atomic():
        check_number_of_webhooks(target)
        webhook.save(force_insert=True)
    return webhook, secret


def check_number_of_webhooks(organization: Organization) -> None:
    """Check that the organisation may have another webhook. Call it in the transaction that creates the webhook.

    Raises:
        InvalidRequest: It has MAX_WEBHOOKS already.
    """
    advisory_xact_locks([f"webhooks of {organization.pk}"])
    if Webhook.objects.filter(organization=organization).count() >= MAX_WEBHOOKS:
        raise InvalidRequest(
            gettext("An organisation has at most {maximum} webhooks. Delete one first.").format(maximum=MAX_WEBHOOKS),
            field="url",
        )


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        is_complete = parts.scheme in ("http", "https") and bool((parts.hostname or "").encode("idna"))
        is_complete = is_complete and parts.port != 0
    except ValueError:  # brackets, a port or a label of the host's name that cannot be
        return False
    # `urlsplit` leaves line ends and tabs out, others do not.
    is_plain = all(character.isprintable() and not character.isspace() for character in url)
    return is_complete and is_plain and parts.username is None and not parts.fragment


def check_url(url: str) -> None:
    """Check an address when it is entered. It is checked again each time that it is connected to.

    Raises:
        InvalidRequest: If it is malformed, or webhooks may not be sent to it.
        TooManyLongRequests: If the account has too many long requests in progress.
    """
    if not _is_address(url):
        message = gettext(
            "This must be an address such as https://example.com/hook, without a user name and without #."
        )
        raise InvalidRequest(message, field="url")
    try:
        with LONG_REQUESTS.admit():  # the servers that know the name may be slow
            outbound_connections.check_allowed(url, setting=outbound_connections.WEBHOOK_HOSTS)
    except outbound_connections.ForbiddenAddress as error:
        raise InvalidRequest(str(error), field="url") from None


def update_webhook(webhook: Webhook, settings: WebhookSettings) -> Webhook:
    """Change a webhook that the caller may see. Switching it on clears `disabled_reason`.

    Raises:
        InvalidRequest: If the address is refused.
        UnknownWebhook: If the webhook was deleted meanwhile.
    """
    values: dict[str, object] = {"updated_at": timezone.now()}
    if settings.url is not None and settings.url != webhook.url:
        check_url(settings.url)
        values["url"] = settings.url
    if settings.events is not None:
        values["events"] = list(settings.events)
    if settings.description is not None:
        values["description"] = settings.description
    if settings.is_active is not None:
        values["is_active"] = settings.is_active
        values["disabled_reason"] = "" if settings.is_active else webhook.disabled_reason
    with transaction.atomic():
        _lock(webhook)
        Webhook.objects.filter(pk=webhook.pk).update(**values)
        webhook.refresh_from_db(fields=list(values))
    return webhook


@transaction.atomic
def delete_webhook(webhook: Webhook) -> None:
    """Delete a webhook with its deliveries.

    Raises:
        UnknownWebhook: If it was deleted meanwhile.
    """
    _lock(webhook)
    webhook.delete()


def _lock(webhook: Webhook) -> None:
    """Lock a webhook until the transaction ends: no delivery is added while it is deleted, and it is not deleted twice.

    Raises:
        UnknownWebhook: If it was deleted meanwhile.
    """
    if not list(Webhook.objects.select_for_update().filter(pk=webhook.pk).values_list("pk", flat=True)):
        raise UnknownWebhook


@transaction.atomic
def rotate_secret(webhook: Webhook) -> str:
    """Return a new secret. The current one is valid for SECRET_OVERLAP, so that the receiver can be changed.

    Raises:
        UnknownWebhook: If the webhook was deleted meanwhile.
    """
    _lock(webhook)
    secret = signing.generate_secret()
    webhooks = Webhook.objects.filter(pk=webhook.pk)
    webhooks.replace_secret(
        encryption.encrypt(secret, encryption.Purpose.WEBHOOK), old_secret_until=timezone.now() + SECRET_OVERLAP
    )
    return secret


def list_deliveries(webhook: Webhook, *, state: str = "") -> QuerySet[WebhookDelivery]:
    """Return what was and will be sent to a webhook that the caller may see, newest first."""
    deliveries = WebhookDelivery.objects.filter(webhook=webhook)
    return deliveries.filter(state=state) if state else deliveries


@transaction.atomic
def send_test(webhook: Webhook) -> WebhookDelivery:
    """Store a delivery with the event `webhook.test`, even if the webhook subscribes to no events.

    Raises:
        InvalidRequest: If MAX_TESTS_AN_HOUR were stored within the last hour.
        UnknownWebhook: If the webhook was deleted meanwhile.
    """
    _lock(webhook)
    tests = WebhookDelivery.objects.filter(webhook=webhook, event=TEST_EVENT)
    if tests.filter(created_at__gt=timezone.now() - datetime.timedelta(hours=1)).count() >= MAX_TESTS_AN_HOUR:
        message = gettext("A webhook gets at most {maximum} test events within an hour. Try again later.")
        raise InvalidRequest(message.format(maximum=MAX_TESTS_AN_HOUR), field="id")
    return events.record_for(webhook, TEST_EVENT, {"webhookId": str(webhook.pk)})


@transaction.atomic
def retry_deliveries(deliveries: QuerySet[WebhookDelivery]) -> int:
    """Send the failed ones again, each with a new series of attempts. Returns how many these are."""
    values = {"state": WebhookDelivery.State.PENDING, "attempts": 0, "due_at": timezone.now(), "finished_at": None}
    number = deliveries.filter(state=WebhookDelivery.State.FAILED).update(**values)
    if number:
        events.notify_worker()
    return number
