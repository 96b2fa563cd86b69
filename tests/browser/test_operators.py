"""What an operator sees on the page "Operations", at a browser, in good times and in bad ones."""

import datetime
from collections.abc import Callable

from django.utils import timezone
from playwright.sync_api import expect

from rag.models import EmbeddingModel, ModelOutage, WorkerHeartbeat
from rag.services.operations import workers

from .site import Site
from .visitor import Visitor


def test_the_page_says_what_is_wrong_and_what_to_do(site: Site, visitor: Callable[..., Visitor]) -> None:
    for queue in ("ingestion", "maintenance", "background"):
        workers.Reporter(name=f"{queue}@host", queues=(queue,), slots=2, list_running=list).beat()
    person = visitor(site.superuser)
    person.shorten_pauses()
    page = person.page
    page.goto("/admin/")
    page.locator(".shortcuts").get_by_role("link", name="Operations: is everything healthy?").click()
    state = page.locator(".state").first
    expect(page.get_by_role("row", name="ingestion@host")).to_contain_text("online")
    WorkerHeartbeat.objects.filter(name="ingestion@host").update(beat_at=timezone.now() - datetime.timedelta(minutes=2))
    # The page asks again by itself.
    expect(state).to_contain_text("No worker serves: ingestion")
    expect(state).to_contain_text("Start a worker")
    assert not person.check_page()
    model = EmbeddingModel.objects.default()
    ModelOutage.objects.create(model=model, since=timezone.now(), until=timezone.now() + datetime.timedelta(hours=1))
    expect(state).to_contain_text(f"The model {model} does not answer")
    page.get_by_role("button", name="Pause updates").click()
    expect(page.get_by_role("button", name="Continue updates")).to_be_visible()
