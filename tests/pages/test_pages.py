"""The pages for every account: sign-in, questions and answers, documents, history (docs/user/web.md)."""

import re
from typing import Any

import pytest
from django.test import Client
from django.utils.http import urlencode

from accounts.models import User
from accounts.sign_in import second_factor
from orgs.access.permissions import QueryHistory, Visibility
from rag.models import Conversation, ConversationMessage, DataSource
from ragsite.postgres import identity
from tests.pages.page_requests import ask, citation_urls, stream
from tests.support.browsers import browser
from tests.support.factories import PASSWORD, World, ingest_text


@pytest.fixture(autouse=True)
def committed(transactional_db: None) -> None:
    """A stream closes its connection between two events, which would end a test's transaction."""


def test_code_of_an_answer_is_shown_as_a_block(world: World) -> None:
    text = "# Feeding\n\n## How do I feed the zebra?\n\nRun this command:\n\n```sh\nfeed --animal zebra\n```\n"
    ingest_text(world.source(name="Animals"), "feeding.md", text, title="Feeding")
    page = ask(browser(world.users["member"]), "How do I feed the zebra?").content.decode()
    answer = page.partition('class="answer-text"')[2].partition("</div>")[0]
    assert '<pre tabindex="0" dir="ltr"><code>feed --animal zebra</code></pre>' in answer
    assert "```" not in answer


def test_any_account_signs_in_and_sees_which_sources_it_may_query(world: World, source: DataSource) -> None:
    world.source("secret", name="Secret plans", visibility=Visibility.PERSONAL)
    client = Client()
    assert client.get("/").headers["Location"] == "/sign-in?next=/"
    fields = {"username": world.users["member"].email, "password": PASSWORD, "next": "/"}
    page = client.post("/sign-in", fields, follow=True)
    html = page.content.decode()
    assert (page.redirect_chain, "Animals" in html, "Secret plans" in html) == ([("/", 302)], True, False)
    assert client.post("/sign-out").status_code == 302
    assert client.get("/").status_code == 302


def test_a_superuser_without_an_organisation_learns_how_to_ask(world: World) -> None:
    client = browser(User.objects.create_superuser("root@ragsite.example", PASSWORD))
    page = client.get("/").content.decode()
    (url,) = re.findall(r'href="(/admin/orgs/membership/add/[^"]*)"', page)
    choices = client.get(url).content.decode()
    (query,) = re.findall(rf'href="([^"]*organization={world.home.pk}[^"]*)"', choices)
    form = client.get(f"/admin/orgs/membership/add/{query.replace('&amp;', '&')}").content.decode()
    assert "selected>root@ragsite.example" in form
    assert "/membership/add/" not in browser(world.users["supporter"]).get("/").content.decode()


def test_who_manages_sources_learns_how_to_have_one_to_ask(world: World) -> None:
    def first_page(name: str) -> str:
        client = Client()
        client.force_login(world.users[name])
        return client.get("/").content.decode()

    User.objects.filter(pk__in=[world.users["owner"].pk, world.users["editor"].pk]).update(is_staff=True)
    create = 'href="/admin/rag/datasource/add/"'
    assert [create in first_page(name) for name in ("owner", "admin", "editor", "member")] == [
        True,
        False,
        False,
        False,
    ]
    world.source()
    assert create not in first_page("owner")


def test_the_sign_in_page_has_the_locks_and_the_second_factor(world: World) -> None:
    member = world.users["member"]
    with identity.run_as(identity.SIGN_IN):
        device = second_factor.get_or_create_unconfirmed(member)
        device.confirmed = True
        device.save()
    fields = {"username": member.email, "password": PASSWORD}
    assert "second factor" in Client().post("/sign-in", fields).content.decode()
    assert browser(member).get("/").status_code == 302, "a session without the second factor opens no page"
    for _ in range(5):
        reply = Client().post("/sign-in", {**fields, "password": "wrong"})
    assert reply.status_code == 429


def test_more_sources_than_are_listed_are_counted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        world.source(f"s{number}", name=f"Source {number}")
    monkeypatch.setattr("rag.pages.sources.MAX_LISTED_SOURCES", 2)
    page = browser(world.users["member"]).get("/").content.decode()
    assert "You can ask 3 sources, of which the first 2 are listed" in page
    monkeypatch.setattr("rag.pages.sources.MAX_LISTED_SOURCES", 3)
    assert "are listed" not in browser(world.users["member"]).get("/").content.decode()


def test_a_deactivated_account_opens_no_page(world: World) -> None:
    client = browser(world.users["member"])
    User.objects.filter(pk=world.users["member"].pk).update(is_active=False)
    assert client.get("/").status_code == 302


def test_without_scripts_the_answer_is_part_of_the_page(world: World, source: DataSource) -> None:
    page = ask(browser(world.users["member"]))
    assert "300 kilograms" in page.content.decode()
    assert page.redirect_chain[0][0].startswith("/conversations/"), "a reload must not ask again"


@pytest.mark.parametrize("streams", [False, True])
def test_the_address_of_a_conversation_keeps_the_options(world: World, source: DataSource, streams: bool) -> None:
    client, options = browser(world.users["member"]), {"sources": str(source.pk), "tags": "zoo, a&b", "top_k": "10"}
    ingest_text(source, "tagged.md", "A zebra weighs up to 300 kilograms.", tags=("zoo", "a&b"))
    url = stream(client, **options)[-1][1]["url"] if streams else ask(client, **options).redirect_chain[0][0]
    assert url.partition("#")[0].endswith(f"?sources={source.pk}&tags=zoo%2C+a%26b")
    html = client.get(url).content.decode()
    assert re.search(rf'name="sources" value="{source.pk}" checked', html)
    assert 'value="zoo, a&amp;b"' in html
    assert '<details class="options" open>' in html
    assert '<details class="options">' in client.get(url.partition("?")[0]).content.decode()


def test_an_answer_is_streamed_and_its_citation_opens_the_passage(world: World, source: DataSource) -> None:
    client = browser(world.users["member"])
    events = stream(client)
    names = [name for name, _ in events]
    assert names[0] == "sources"
    assert "token" in names
    assert names[-1] == "done"
    (url, *_) = citation_urls(events[-1][1]["html"])
    document = client.get(url.partition("#")[0]).content.decode()
    marked = re.search(r"<mark[^>]*>(.*?)</mark>", document, re.DOTALL)
    assert marked
    assert "300 kilograms" in marked[1]


def test_a_follow_up_question_continues_the_conversation(world: World, source: DataSource) -> None:
    client = browser(world.users["member"])
    conversation = stream(client)[-1][1]["conversation"]
    stream(client, question="And how does it sleep?", conversation=conversation)
    assert Conversation.objects.get().messages.count() == 4


def test_texts_of_documents_and_questions_are_escaped(world: World) -> None:
    source = world.source(name="<script>alert(1)</script>")
    ingest_text(source, "a", "The <img src=x onerror=alert(2)> lion weighs 200 kilograms.", title="<b>Lions</b>")
    client = browser(world.users["member"])
    html = ask(client, "How much does the <img> lion weigh? <script>alert(3)</script>").content.decode()
    html += client.get(f"/documents/{source.documents.get().pk}").content.decode()
    assert "200 kilograms" in html
    assert not re.search(r"<script>|<img src=x|<b>Lions", html)


def test_names_do_not_reorder_the_words_around_them(world: World) -> None:
    """Names may contain controls of the direction of writing, whose effect ends with the element of the name."""
    source = world.source(name="\u202eLibrary")
    ingest_text(source, "a", "The lion weighs 200 kilograms.", tags=["\u202etag", "second"])
    client = browser(world.users["member"])
    pages = ask(client, "How much does the lion weigh?"), client.get(f"/documents/{source.documents.get().pk}")
    for page in (response.content.decode() for response in pages):
        assert page.count("\u202e") == page.count("<bdi>\u202e") > 0
    assert "<bdi>second</bdi>" in page


def test_titles_do_not_reorder_the_scores_beside_them(world: World) -> None:
    ingest_text(world.source(), "a", "The lion weighs 200 kilograms.", title="\u2067Lions")
    client = browser(world.users["owner"])
    question = {"question": "How much does the lion weigh?", "top_k": 5, "second_top_k": 5, "second_ranking": "off"}
    for address in ("/trace", "/compare"):
        page = client.post(address, question).content.decode()
        assert page.count("\u2067") == page.count("<bdi>\u2067") > 0, address


def test_titles_and_paths_look_like_what_they_are(world: World) -> None:
    """A control that reverses letters is shown: in its place, `fdp.exe` would be read as the end of a PDF's name."""
    document = ingest_text(
        world.source(), "lions\u202efdp.exe", "The lion weighs 200 kilograms.", title="Lions \u202efdp.exe"
    )
    client = browser(world.users["owner"])
    question = {"question": "How much does the lion weigh?", "top_k": 5, "second_top_k": 5, "second_ranking": "off"}
    pages = [client.post(address, question) for address in ("/trace", "/compare")]
    pages += [ask(client, "How much does the lion weigh?"), client.get(f"/documents/{document.document_id}")]
    texts = [re.sub(r' aria-label="[^"]*"', "", page.content.decode()) for page in pages]
    for text in texts:
        assert "Lions ‹U+202E›fdp.exe" in text
        assert "\u202e" not in text
    assert "lions‹U+202E›fdp.exe" in texts[-1]


def test_documents_and_conversations_of_others_do_not_exist(world: World, source: DataSource) -> None:
    owner, member = browser(world.users["owner"]), browser(world.users["member"])
    secret = world.source("secret", visibility=Visibility.PERSONAL)
    ingest_text(secret, "plan", "The plan is secret.")
    document = f"/documents/{secret.documents.get().pk}"
    conversation = stream(owner)[-1][1]["url"]
    answer = ConversationMessage.objects.get(role="assistant")
    assert owner.get(document).status_code == owner.get(conversation).status_code == 200
    assert member.get(document).status_code == member.get(conversation).status_code == 404
    for path in (f"{conversation}/rename", f"{conversation}/delete", f"/answers/{answer.pk}/rating"):
        assert member.post(path, {"title": "mine", "rating": "up"}).status_code == 404
    assert ask(member, sources=[str(secret.pk)]).status_code == 400
    reply = ask(member, conversation=conversation.rpartition("/")[2])
    assert reply.status_code == 404


def test_history_is_searched_renamed_and_deleted(world: World, source: DataSource) -> None:
    client = browser(world.users["member"])
    url = stream(client)[-1][1]["url"]
    assert client.post(f"{url}/rename", {"title": "Heavy animals"}, follow=True).status_code == 200
    matching, other = (client.get(f"/history?{urlencode({'q': q})}").content.decode() for q in ("heavy", "lions"))
    assert url in matching
    assert url not in other
    assert url not in browser(world.users["owner"]).get("/history").content.decode()
    client.post(f"{url}/delete")
    assert (client.get(url).status_code, Conversation.objects.count()) == (404, 0)


def test_an_answer_is_rated_with_a_reason(world: World, source: DataSource) -> None:
    client = browser(world.users["member"])
    stream(client)
    answer = ConversationMessage.objects.get(role="assistant")
    rating = {"rating": "down", "reason": "outdated", "comment": "It has grown."}
    assert client.post(f"/answers/{answer.pk}/rating", rating).status_code == 302
    answer.refresh_from_db()
    assert (answer.is_helpful, answer.rating_reason, answer.rating_comment) == (False, "outdated", "It has grown.")


def test_nothing_is_stored_where_history_is_not_kept(world: World, source: DataSource) -> None:
    world.home.query_history = QueryHistory.NONE
    world.home.save()
    client = browser(world.users["member"])
    done = stream(client)[-1][1]
    assert (done["url"], Conversation.objects.count()) == ("", 0)
    assert "300 kilograms" in ask(client).content.decode()


def test_filters_and_options_apply(world: World, source: DataSource) -> None:
    client = browser(world.users["member"])
    fields: dict[str, Any] = {"tags": "none", "mode": "lexical", "ranking": "off", "top_k": 3}
    nothing = ask(client, **fields)
    assert (nothing.status_code, "Nothing was found</h1>" in nothing.content.decode()) == (404, True)
    assert "No document matches your filters" in nothing.content.decode()
    assert "300 kilograms" in ask(client, **{**fields, "tags": ""}).content.decode()
    assert ask(client, top_k=1000).status_code == 400


@pytest.mark.usefixtures("steady_rate_limits")
def test_questions_count_towards_the_rate_limit_of_queries(world: World, source: DataSource, settings: Any) -> None:
    limits = settings.RAG_REQUESTS_PER_MINUTE | {"queries": 1}
    settings.RAG_RATE_LIMITS, settings.RAG_REQUESTS_PER_MINUTE = True, limits
    client = browser(world.users["member"])
    replies = [ask(client) for _ in range(2)]
    assert [reply.status_code for reply in replies] == [200, 429]
    assert int(replies[1]["Retry-After"]) > 0


def test_questions_that_readable_documents_answer_are_suggested(world: World) -> None:
    question = "How long does an elephant sleep?"
    ingest_text(world.source(), "a.md", f"# {question}\n\nTwo hours a night.")
    hidden = world.source("secret", visibility=Visibility.PRIVATE)
    ingest_text(hidden, "b.md", "# When will the office be closed for good?\n\nIn May.")
    arabic = "كم ساعة ينام الفيل في الليلة؟"
    ingest_text(world.source("arabic"), "c.md", f"# {arabic}\n\nساعتان.")
    page = browser(world.users["member"]).get("/").content.decode()
    assert f">{question}</a>" in page
    assert f">{arabic}</a>" in page
    assert "for good" not in page
    assert "for good" not in browser(world.users["foreigner"]).get("/").content.decode()


def test_questions_of_a_reader_are_suggested_first(world: World) -> None:
    source = world.source()
    for number in range(4):
        ingest_text(source, f"{number}.md", f"# What is the meaning of term {number}?\n\nIt is a number.")
    ingest_text(source, "z.md", "# How do I feed an elephant?\n\nWith hay.")
    page = browser(world.users["member"]).get("/").content.decode()
    first, *others = re.findall(r">([^<]+\?)</a>", page)
    assert first == "How do I feed an elephant?"
    assert others == ["What is the meaning of term 0?", "What is the meaning of term 1?"]


def test_each_field_of_a_comparison_has_its_label(world: World, settings: Any) -> None:
    settings.LLM_MODEL, settings.LLM_MODELS = "small", ["large"]
    page = browser(world.users["member"]).get("/compare").content.decode()
    labels = ("Search", "Reranking", "Passages", "Language model")
    assert [page.count(f">{label}</label>") for label in labels] == [2, 2, 2, 2]
