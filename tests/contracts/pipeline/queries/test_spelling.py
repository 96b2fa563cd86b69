"""Questions with typing errors, over HTTP (docs/decisions/0082-spelling.md)."""

import pytest

from orgs.access.permissions import Visibility
from tests.support.factories import World, ingest_text
from tests.support.http import Client

from .questions import ask


@pytest.mark.parametrize(
    "question", ["Where are bicycels parked?", "Where are biycles praked in the yard?", "Bicyles are parkd where?"]
)
def test_a_misspelled_question_is_answered(member: Client, question: str) -> None:
    reply = ask(member, query=question)
    assert reply.body["answer"].startswith("Bicycles are parked in the yard.")
    assert reply.body["gaps"] == []
    assert reply.body["warnings"] == ["SPELLING_CORRECTED"]


def test_a_word_whose_stem_is_a_short_other_word_is_misspelled(member: Client, live_world: World) -> None:
    """The stem of "acces" would be "acc"."""
    ingest_text(live_world.source("staff"), "/cellar", "Only the caretaker has access to the cellar.", title="Cellar")
    reply = ask(member, query="Who has acces to the cellar?")
    assert reply.body["answer"].startswith("Only the caretaker has access to the cellar.")
    assert reply.body["warnings"] == ["SPELLING_CORRECTED"]


def test_a_rare_word_is_an_error_if_a_similar_one_is_much_more_frequent(member: Client, live_world: World) -> None:
    """The dictionary has "filer", somebody who files documents."""
    ingest_text(live_world.source("staff"), "/file", "The file of events is at the gate.", title="Events")
    reply = ask(member, query="Where is the filer of events?")
    assert reply.body["answer"].startswith("The file of events is at the gate.")
    assert reply.body["warnings"] == ["SPELLING_CORRECTED"]


def test_a_plural_that_is_its_own_stem_is_no_error(member: Client, live_world: World) -> None:
    ingest_text(live_world.source("staff"), "/cold", "The cold room has minus ten degrees.", title="Cold room")
    assert ask(member, query="Where are the menus?").body["warnings"] != ["SPELLING_CORRECTED"]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("The wiki has a page for guests.", "What is the wifi code for guests?"),
        ("The vanish button is red.", "Is there varnish on the button?"),
        ("The menu is at the gate.", "Who can mend the gate?"),
    ],
)
def test_a_rare_word_is_no_error(member: Client, live_world: World, text: str, question: str) -> None:
    """The local model's vocabulary has only the most frequent words; "wifi" is in the dictionary."""
    ingest_text(live_world.source("staff"), "/rare", text, title="Rare")
    reply = ask(member, query=question)
    assert "SPELLING_CORRECTED" not in reply.body["warnings"]
    assert question in reply.body["prompt"]


def test_a_form_of_a_foreign_word_corrects_nothing(member: Client, live_world: World) -> None:
    """A word that neither the dictionary nor a document has stays, though "neuo" is a form of the Spanish "neu"."""
    source = live_world.source("staff")
    ingest_text(source, "/neu", "Neu es el nombre del perro que vive en la casa de la playa con su familia.", lang="es")
    question = "How often is the neuro status checked?"
    reply = ask(member, query=question)
    assert "SPELLING_CORRECTED" not in reply.body["warnings"]
    assert question in reply.body["prompt"]


def test_words_that_a_document_has_stay_as_they_are(member: Client, live_world: World) -> None:
    ingest_text(live_world.source("staff"), "/ours", "A bicycel is our mascot: a small wooden figure.", title="Mascot")
    assert "mascot" in ask(member, query="What is a bicycel?").body["answer"]


def test_words_of_documents_that_the_caller_may_not_read_correct_nothing(member: Client, live_world: World) -> None:
    question = "Where is the quagmyre?"
    before = ask(member, query=question).body
    hidden = live_world.source("hidden", visibility=Visibility.PRIVATE)
    ingest_text(hidden, "/secret", "The quagmire is behind the shed.")
    after = ask(member, query=question).body
    assert "quagmyre" in after["prompt"]
    assert "quagmire" not in str(after)
    assert (after["answer"], after["prompt"], after["scores"]) == (before["answer"], before["prompt"], before["scores"])
