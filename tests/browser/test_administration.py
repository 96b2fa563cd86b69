"""What administrators do with data sources, documents and jobs, at a browser."""

from collections.abc import Callable

from django.test import Client
from playwright.sync_api import expect

from orgs.models import Membership
from rag.models import Document, EmbeddingModel, IngestionDocument
from rag.services.reembedding import background
from tests.support.factories import PASSWORD, ingest_text, process_queue
from tests.support.servers.provider_server import ProviderServer

from .page_checks import DESKTOP, PHONE
from .site import LONG_PATH, Site, submit_document
from .visitor import Visitor

SOURCES, JOBS = "/admin/rag/datasource/", "/admin/rag/ingestionjob/"


def test_an_upload_on_the_page_of_a_source_is_followed_until_it_is_searchable(
    site: Site, visitor: Callable[..., Visitor]
) -> None:
    person = visitor(site.users["owner"])
    person.shorten_pauses()
    page = person.page
    page.goto(f"{SOURCES}{site.source.pk}/change/")
    files = [
        {"name": "okapi.txt", "mimeType": "text/plain", "buffer": b"The okapi lives in the forest."},
        {"name": "broken.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7 and nothing else"},
    ]
    page.get_by_label("Files").set_input_files(files)  # type: ignore[arg-type]
    page.get_by_role("button", name="Upload").click()
    results = page.locator(".upload-results")
    expect(results).to_contain_text("2 files uploaded.")
    expect(results).to_contain_text("0 of 2 searchable …")
    process_queue()
    expect(results).to_contain_text("1 of 2 searchable, 1 failed.")
    expect(results).to_contain_text("broken.pdf: ")
    results.get_by_role("link", name="Show the job").click()
    expect(page.locator(".field-state")).to_contain_text("completed with errors")
    expect(page.locator(".field-failures")).to_contain_text("broken.pdf")


def test_chosen_files_survive_the_end_of_a_session_and_those_left_out_are_counted(
    site: Site, visitor: Callable[..., Visitor]
) -> None:
    person = visitor()
    page = person.page
    person.sign_in(site.users["owner"].email, PASSWORD)
    page.goto(f"{SOURCES}{site.source.pk}/upload/")
    contents = {"okapi.txt": b"The okapi lives in the forest.", "empty.txt": b""}
    files = [{"name": name, "mimeType": "text/plain", "buffer": content} for name, content in contents.items()]
    page.get_by_label("Files").set_input_files(files)  # type: ignore[arg-type]
    person.context.clear_cookies()
    page.get_by_role("button", name="Upload").click()
    expect(page.locator(".upload-results")).to_have_text(
        "1 file not uploaded: Your session has ended. Sign in again in another tab, then upload here."
    )
    client = Client()  # the other tab
    client.force_login(site.users["owner"])
    person.use_session(client)
    page.get_by_role("button", name="Upload").click()
    expect(page.locator(".upload-results")).to_contain_text("1 file uploaded.")
    expect(page.locator(".upload-state")).to_contain_text("Some files were not uploaded.")


def test_the_progress_of_an_upload_is_not_asked_for_without_a_session(
    site: Site, visitor: Callable[..., Visitor]
) -> None:
    person = visitor(site.users["owner"])
    person.shorten_pauses()
    page = person.page
    page.goto(f"{SOURCES}{site.source.pk}/upload/")
    file = {"name": "okapi.txt", "mimeType": "text/plain", "buffer": b"The okapi lives in the forest."}
    page.get_by_label("Files").set_input_files(file)  # type: ignore[arg-type]
    page.get_by_role("button", name="Upload").click()
    results = page.locator(".upload-results")
    expect(results).to_contain_text("0 of 1 searchable …")
    person.context.clear_cookies()
    expect(results).to_contain_text("Sign in again and open the job")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.wait_for_timeout(500)  # three pauses
    assert not requests


def test_a_form_of_the_admin_survives_the_end_of_the_session(site: Site, visitor: Callable[..., Visitor]) -> None:
    person = visitor()
    page = person.page
    person.sign_in(site.users["owner"].email, PASSWORD)
    page.goto(f"{SOURCES}add/")
    page.get_by_label("Name:").fill("Plants")
    page.get_by_label("Who may query it").select_option("private")
    page.get_by_role("button", name="Add a person, role or team").click()
    page.locator("[name=grants-1-grantee]").fill(site.users["member"].email)
    person.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_label("E-mail address").fill(site.users["owner"].email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator(".errornote")).to_contain_text("not saved yet")
    expect(page.get_by_label("Name:")).to_have_value("Plants")
    expect(page.get_by_label("Who may query it")).to_have_value("private")
    expect(page.locator("[name=grants-1-grantee]")).to_have_value(site.users["member"].email)
    # The next page is left before its scripts have run.
    page.route("**/keep-form*.js", lambda route: route.fulfill(content_type="text/javascript", body=""))
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".messagelist")).to_contain_text("was added")
    page.unroute("**/keep-form*.js")
    page.goto(f"{SOURCES}add/")
    expect(page.get_by_role("button", name="Add a person, role or team")).to_be_visible()
    expect(page.get_by_label("Name:")).to_have_value("")


def test_the_page_of_a_source_says_who_can_query_it(site: Site, visitor: Callable[..., Visitor]) -> None:
    owner = visitor(site.users["owner"])
    page = owner.page
    page.goto(SOURCES)
    page.get_by_role("link", name="For team").click()
    expect(page.locator(".audience")).to_contain_text("Members of the team support can query this source")
    page.set_viewport_size(PHONE)
    label = page.locator("#grants-0 .field-expires_at .cell-label")
    expect(label).to_have_css("position", "static")  # there, columns have no headings
    expect(label).to_have_text("Until")
    expect(page.locator("#grants-0").get_by_label("until: time")).to_be_visible()
    page.set_viewport_size(DESKTOP)
    page.get_by_label("Delete", exact=True).check()
    page.get_by_role("button", name="Save and continue editing").click()
    expect(page.locator(".audience")).to_contain_text("Nobody yet.")
    page.locator(".object-tools").get_by_role("link", name="History").click()
    expect(page.get_by_role("row", name=site.users["owner"].email)).to_be_visible()
    assert not owner.check_page()
    page.get_by_role("link", name="Show what the audit trail records about it").click()
    expect(page.get_by_role("row", name="created data source")).to_contain_text("for-team")
    expect(page.get_by_role("row", name="deleted grant")).to_contain_text("for-team")
    page.goto(SOURCES)
    expect(page.get_by_role("row", name="For team")).to_contain_text("nobody yet")
    expect(page.get_by_role("row", name="For role")).to_contain_text("role editor")


def test_long_words_do_not_widen_a_page(site: Site, visitor: Callable[..., Visitor]) -> None:
    word = "W" * 140
    source = site.world.source("long", name=word, description=word)
    document = ingest_text(source, f"{word}.md", f"# {word}\n\n{word}", title=word).document_id
    job = submit_document(source, site.users["owner"], f"{word}.pdf", word)
    row = IngestionDocument.objects.get(job=job).pk
    member = Membership.objects.get(user=site.users["member"], organization=source.organization)
    page = visitor(site.users["owner"]).page
    page.set_viewport_size(PHONE)
    for address in (
        *(f"{SOURCES}{source.pk}/{name}/" for name in ("change", "delete", "history", "upload", "quality")),
        *(f"/admin/rag/document/{document}/{name}/" for name in ("change", "delete", "history")),
        *(f"{JOBS}{job.pk}/change/", f"/admin/rag/ingestiondocument/{row}/change/"),
        f"/admin/rag/document/?source__id__exact={source.pk}",
        f"{SOURCES}matrix/change/?source={source.pk}&person={member.pk}",
    ):
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"], address


def test_long_paths_leave_two_lines_to_the_times_of_documents(site: Site, visitor: Callable[..., Visitor]) -> None:
    """In four, they made a row twice as high."""
    Document.objects.filter(path=LONG_PATH).update(path=f"{LONG_PATH}/{LONG_PATH}")
    page = visitor(site.users["owner"]).page
    page.goto("/admin/rag/document/")
    count_lines = "cell => { const range = document.createRange(); range.selectNodeContents(cell); "
    count_lines += "return new Set([...range.getClientRects()].map(line => line.top)).size; }"
    assert page.locator("td.field-updated_at").first.evaluate(count_lines) <= 2


def test_the_list_of_jobs_updates_by_itself(site: Site, visitor: Callable[..., Visitor]) -> None:
    job = submit_document(site.source, site.users["owner"], "lions.md", "The lion sleeps most of the day.")
    person = visitor(site.users["owner"])
    person.shorten_pauses()
    page = person.page
    page.goto(JOBS)
    row = page.get_by_role("row").filter(has=page.locator(f'[data-live="state-{job.pk}"]'))
    expect(row).to_contain_text("Animals: 1 document")
    expect(row.locator(".state")).to_have_text("queued")
    process_queue()
    expect(row.locator(".state")).to_have_text("completed")
    expect(row).to_contain_text("1 of 1")


def test_a_failed_document_is_retried_with_a_button_and_a_job_cancelled(
    site: Site, visitor: Callable[..., Visitor]
) -> None:
    page = visitor(site.users["owner"]).page
    row = IngestionDocument.objects.get(job=site.failed)
    page.goto(f"/admin/rag/ingestiondocument/{row.pk}/change/")
    page.get_by_role("button", name="Retry what failed").click()
    expect(page.get_by_text("Queued again: 1 document.")).to_be_visible()
    page.goto(f"{JOBS}{site.failed.pk}/change/")
    page.get_by_role("button", name="Cancel the job").click()
    expect(page.locator(".field-state")).to_contain_text("cancelled")


def test_a_reembedding_is_followed_until_searches_use_the_new_model(
    site: Site, visitor: Callable[..., Visitor], model_provider: ProviderServer
) -> None:
    EmbeddingModel.objects.create(name="second", provider="openai", dimensions=384, base_url=model_provider.base_url)
    source = site.world.source("notes", name="Notes")
    ingest_text(source, "lions.md", "The lion sleeps most of the day.")
    owner = visitor(site.users["owner"])
    page, step = owner.page, owner.page.locator("[aria-current=step]")
    page.goto(f"{SOURCES}{source.pk}/reembed/")
    page.get_by_label("New embedding model").select_option(label="second")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_text("A worker counts the chunks")).to_be_visible()
    background.advance_due()
    expect(page.get_by_text("1 of 1 chunks have a vector of second.")).to_be_visible()
    expect(step).to_have_text("Compare and switch")
    assert not owner.check_page()
    page.get_by_role("link", name="Switch").click()
    page.get_by_role("button", name="Switch").click()
    expect(step).to_have_text("Drop the old vectors")
    expect(page.get_by_text("Searches of this data source use second")).to_be_visible()


def test_the_page_of_a_document_shows_its_chunks_to_those_who_may_query(
    site: Site, visitor: Callable[..., Visitor]
) -> None:
    document = Document.objects.get(path=LONG_PATH)
    page = visitor(site.users["owner"]).page
    page.goto(f"/admin/rag/document/{document.pk}/change/")
    expect(page.get_by_role("region", name="Text of chunk 1")).to_contain_text("300 kilograms")
    page.get_by_title("Show it in the text").first.click()
    expect(page.locator("#passage")).to_contain_text("300 kilograms")
    reader = visitor(site.superuser)  # manages every source, and is a member of no organisation
    reader.open(f"/admin/rag/document/{document.pk}/change/")
    expect(reader.page.get_by_text(LONG_PATH).first).to_be_visible()
    expect(reader.page.get_by_text("300 kilograms")).to_have_count(0)
