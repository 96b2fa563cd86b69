"""Unanswered questions: what is stored of them, and the page that shows them to people who manage the source."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from orgs.access.caller import Caller
from orgs.access.permissions import Visibility
from rag.models import Conversation, DataSource, GoldenQuestion, UnansweredQuestion
from rag.providers import provider_factory
from rag.providers.base import Vectors
from rag.services.evaluation import answer_ratings, record_unanswered
from rag.services.maintenance.retention import delete_old_history
from rag.services.queries import ask_replies, permitted_queries
from rag.services.queries.history import own_conversations
from rag.services.queries.source_selection import SourceSelection
from rag.types import AnswerOptions, Question
from ragsite.postgres import identity
from tests.admin.sources.test_reembedding import page_url, text
from tests.support.browsers import staff_browser
from tests.support.factories import World, ingest_text

pytestmark = pytest.mark.django_db(transaction=True)
UNANSWERED = "What do flamingos earn?"
ANSWERED = "Does the zebra sleep standing up?"


@pytest.fixture
def source(world: World) -> DataSource:
    source = world.source(name="Animals")
    ingest_text(source, "zebras.md", "# Zebras\n\nThe zebra sleeps standing up, and it weighs about 300 kilograms.")
    return source


def ask(
    world: World, question: str = UNANSWERED, name: str = "member", **selection: Any
) -> ask_replies.ConversationAnswer:
    """Asks as the page does: with the identity of the user's request."""
    caller = Caller(world.users[name])
    with identity.run_as(caller.database_identity):
        return permitted_queries.run_to_completion(
            ask_replies.ask(
                Question(question, top_k=5, rerank=True),
                SourceSelection(caller, **selection),
                AnswerOptions(max_prompt_tokens=2000),
            )
        )


def reasons() -> list[tuple[str, str]]:
    return list(UnansweredQuestion.objects.values_list("question", "reason").order_by("question"))


def test_declined_and_disliked_questions_are_stored_and_answered_ones_are_not(world: World, source: DataSource) -> None:
    caller = Caller(world.users["member"])
    declined, answered = ask(world), ask(world, ANSWERED)
    ask(world)  # again: it replaces the first
    assert reasons() == [(UNANSWERED, "declined")]
    assert declined.answer.message
    assert answered.answer.message
    for is_helpful, stored in ((False, [(ANSWERED, "disliked"), (UNANSWERED, "declined")]), (None, reasons())):
        with identity.run_as(caller.database_identity):
            answer_ratings.rate_answer(caller, str(answered.answer.message.pk), is_helpful=is_helpful)
        assert reasons() == stored


@pytest.mark.parametrize("change", [{"visibility": Visibility.PRIVATE}, {"deleted_at": timezone.now()}])
def test_a_source_that_is_closed_meanwhile_gets_no_questions(
    world: World, source: DataSource, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    """Answering a question about the source in this moment, or rating an answer of it, was an error (500)."""
    caller, describe, answered = Caller(world.users["member"]), record_unanswered.describe_search, ask(world, ANSWERED)

    def close_source(*arguments: Any, **options: Any) -> Any:
        with identity.run_as(identity.WORKER):
            DataSource.objects.filter(pk=source.pk).update(**change)
        return describe(*arguments, **options)

    monkeypatch.setattr(record_unanswered, "describe_search", close_source)
    assert ask(world).answer.message
    assert answered.answer.message
    with identity.run_as(caller.database_identity):
        rated = answer_ratings.rate_answer(caller, str(answered.answer.message.pk), is_helpful=False)
    assert (rated.is_helpful, reasons()) == (False, [])


def test_a_question_of_the_api_is_stored_too(api: Any, live_world: World) -> None:
    ingest_text(live_world.source(), "zebras.md", "The zebra sleeps standing up.")
    for question in (UNANSWERED, ANSWERED):
        assert api("member").post("/api/rag/query", {"query": question}).status == 200
    assert reasons() == [(UNANSWERED, "declined")]


def test_they_are_kept_only_as_long_as_the_history(world: World, source: DataSource) -> None:
    conversation_id = ask(world).conversation_id
    ask(world, "Who feeds the flamingos?")
    caller = Caller(world.users["member"])
    with identity.run_as(caller.database_identity):
        own_conversations.delete_conversation(caller, Conversation.objects.get(pk=conversation_id or ""))
    assert [question for question, _ in reasons()] == ["Who feeds the flamingos?"]
    world.home.query_history = "redacted"
    world.home.save()
    ask(world)
    assert UNANSWERED not in text(staff_browser(world.users["owner"]), page_url(source, "unanswered"))
    delete_old_history.delete_expired_history()
    assert reasons() == []


def test_a_user_has_a_bounded_number_of_them(world: World, source: DataSource, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_unanswered, "MAX_QUESTIONS_OF_USER", 1)
    ask(world)
    ask(world, "Who feeds the flamingos?")
    assert reasons() == [("Who feeds the flamingos?", "declined")]


def test_similar_questions_are_one_cluster_that_becomes_a_golden_question(world: World, source: DataSource) -> None:
    client, url = staff_browser(world.users["owner"]), page_url(source, "unanswered")
    ask(world, "How much do flamingos earn?", "editor")
    ask(world)
    ask(world, "Who feeds the flamingos?")
    page = text(client, url)
    assert ("2 wordings" in page, "zebras.md" in page) == (True, True)
    assert "member@" not in page, "nobody is named"
    of_cluster = UnansweredQuestion.objects.filter(question__contains="earn")
    fields = {"question": [str(pk) for pk in of_cluster.values_list("pk", flat=True)]}
    assert "is a golden question now" in client.post(url, {**fields, "action": "golden"}, follow=True).content.decode()
    golden = GoldenQuestion.objects.get()
    assert (golden.question, golden.path, golden.active) == (UNANSWERED, "zebras.md", True)
    assert [question for question, _ in reasons()] == ["Who feeds the flamingos?"]
    rest = {"question": [str(UnansweredQuestion.objects.get().pk)], "action": "dismiss"}
    assert "Removed 1 question" in client.post(url, rest, follow=True).content.decode()
    assert "There are none" in text(client, url)


def test_a_long_question_is_shown_in_full_only_if_it_is_opened(world: World, source: DataSource) -> None:
    question = "Dear colleagues, what do flamingos earn? " + "It is for my report. " * 20
    ask(world, question)
    page = staff_browser(world.users["owner"]).get(page_url(source, "unanswered")).content.decode()
    assert f"<td><details><summary>{question[:299]}…</summary>{question.strip()}" in page


def test_managers_see_only_questions_whose_searched_sources_they_may_query(world: World, source: DataSource) -> None:
    """Two managers, each with a personal source: neither sees what the other one asked there."""
    for name in ("owner", "admin"):
        personal = world.source(f"of-{name}", visibility=Visibility.PERSONAL, owner=world.users[name])
        ingest_text(personal, "plan.md", "The hippopotamus is called Ilse.")
        ask(world, f"What does {name} feed the zebra?", name)
        ask(world, f"Where does {name} wash the zebra?", name, data_sources=[source.slug])
    url = page_url(source, "unanswered")
    for name, other in (("owner", "admin"), ("admin", "owner")):
        client = staff_browser(world.users[name])
        page = text(client, url)
        assert f"Where does {other} wash" in page, "only the shared source was searched"
        assert f"What does {name} feed" in page
        assert f"What does {other} feed" not in page
        hidden = UnansweredQuestion.objects.filter(question__startswith=f"What does {other}")
        for action in ("golden", "dismiss"):
            fields = {"question": [str(hidden.get().pk)], "action": action}
            assert "do not exist" in client.post(url, fields, follow=True).content.decode()
    assert not GoldenQuestion.objects.exists()
    for name in ("editor", "member"):
        assert staff_browser(world.users[name]).get(url).status_code == 403
    DataSource.objects.filter(pk=source.pk).update(visibility=Visibility.PERSONAL)
    assert "Where does" not in text(staff_browser(world.users["admin"]), url), "a manager who may not query the source"


def test_requests_read_and_write_only_questions_of_their_own_user(world: World, source: DataSource) -> None:
    ask(world)
    row = UnansweredQuestion.objects.get()
    for name, count in (("member", 1), ("editor", 0), ("foreigner", 0)):
        with identity.run_as(Caller(world.users[name]).database_identity):
            assert UnansweredQuestion.objects.count() == count, name
            assert UnansweredQuestion.objects.exclude(user=row.user).delete()[0] == 0
    with identity.run_as(identity.of_staff(world.users["foreigner"].pk)):
        assert not UnansweredQuestion.objects.exists(), "pages of another organisation's admin"


def test_very_long_questions_are_not_compared(
    world: World, source: DataSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Comparing 300 questions of random words took two minutes of CPU time, each time that the page was loaded."""
    compared: list[str] = []

    def record(texts: Sequence[str]) -> Vectors:
        """Embed all alike: the model would take seconds."""
        compared.extend(texts)
        return np.ones((len(texts), 1), np.float32)

    monkeypatch.setattr(provider_factory.local_embedder(), "embed", record)
    for number in range(20):
        UnansweredQuestion.objects.create(
            source=source,
            user=world.users["member"],
            question=f"{number} {'xq zw ' * 330}"[:2000],
            reason="declined",
            confidence=0,
            document_id=source.documents.get().pk,
            searched_sources=[],
            searched_organizations=[],
        )
    page = text(staff_browser(world.users["owner"]), page_url(source, "unanswered"))
    assert sum(map(len, compared)) <= 25_000
    assert page.count('value="dismiss"') >= 8, "the others are shown as well"


def test_the_page_waits_for_its_turn_as_documents_do(world: World, source: DataSource, settings: Any) -> None:
    ask(world)
    settings.RAG_MAX_MODEL_CALLS = 0
    page = text(staff_browser(world.users["owner"]), page_url(source, "unanswered"))
    assert "wait for the embedding model already" in page
    assert "There are none" not in page
