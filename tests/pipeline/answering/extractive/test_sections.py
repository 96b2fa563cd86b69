"""Extractive answers that are the beginning of a section."""

import uuid

import pytest

from rag.pipeline.answering.extractive.extract import extract_quotes
from rag.pipeline.answering.extractive.render_quotes import render_quotes
from rag.pipeline.answering.extractive.scores.sentence_similarity import SentenceSimilarity
from tests.support.passages import answer, passage

MESSAGE = "Open the page again. You get a message with a link, which works once."
SIGN_IN = f"# Sign in\n\n## I have forgotten my password: what can I do?\n\n{MESSAGE}"
LOCKS = "# Locks\n\nA reset of a forgotten password is logged, and so is a lock. Passwords are never logged."


def test_a_question_in_the_best_passage_needs_a_weaker_match() -> None:
    question = "How do I reset my forgotten password?"
    assert answer(question, passage(SIGN_IN), passage(LOCKS)) == f"{MESSAGE} [1]"
    assert MESSAGE not in answer(question, passage(LOCKS), passage(SIGN_IN))


def test_a_section_needs_a_better_match_if_the_best_part_is_in_a_passage_that_ranks_higher() -> None:
    best, section = "The account of the default user is root.", "# Users\n\n## The default users\n\nA list of them."
    question = "Which account is the default user?"
    assert answer(question, passage(f"# Accounts\n\n{best}"), passage(section)) == f"{best} [1]"
    assert answer(question, passage(section), passage("# Accounts\n\nNobody has any.")) == "A list of them. [1]"


def test_a_section_needs_an_even_better_match_if_that_passage_is_far_more_relevant() -> None:
    best, section = "Search encrypted rooms with the desktop client.", "Nobody else reads these rooms."
    first = passage(f"# Search\n\n{best} The search needs an index. Turn the search on.", relevance=0.6)
    later = f"# Rooms\n\n## Encrypted rooms\n\n{section}"
    question = "How do I search encrypted rooms?"
    assert answer(question, first, passage(later, relevance=0.5)) == f"{section} [2]"
    assert answer(question, first, passage(later, relevance=0.1)).startswith(best)


def test_a_sentence_that_only_leads_elsewhere_is_no_answer() -> None:
    pointers = "See [Scanned documents](send.md).\n\nScanned pages are read, and pictures too."
    assert answer("Can I send scanned documents?", passage(pointers)) == "Scanned pages are read, and pictures too. [1]"


def test_a_heading_with_the_question_itself_wins_over_one_with_more_words_in_the_best_passage() -> None:
    question = "How do I revoke the refresh token of my browser session?"
    expired = "# Limits\n\n## How do I revoke the refresh token of my expired browser session?\n\nThat is not needed."
    here = f"# Sign in\n\n## {question}\n\nSend it to this address."
    assert answer(question, passage(expired), passage(here)) == "Send it to this address. [2]"


def test_a_verb_with_its_particle_matches_the_noun_in_one_word() -> None:
    pages = "# Upkeep\n\n## How do I make a backup?\n\nRun this command.\n\n## How do I restart?\n\nStop it first."
    assert answer("How do I back up?", passage(pages)) == "Run this command. [1]"


def test_yes_or_no_does_not_answer_how_something_is_done() -> None:
    yes, method = "Yes, unless scanned pages are switched off.", "Text recognition finds the words in each picture."
    pages = passage(f"# Scans\n\n## Are scanned pages read?\n\n{yes}\n\n## Reading scanned pages\n\n{method}")
    assert answer("Are scanned pages read?", pages) == f"{yes} [1]"
    assert answer("How are scanned pages read?", pages) == f"{method} [1]"


def test_lines_of_a_table_of_contents_are_no_headings_and_no_answers() -> None:
    next_line = "14.2. I sell a system of my own. May I add copies?"
    contents = f"Contents\n\n14.1. May I sell copies?\n{next_line}\n\n14.3. Who made it?\n"
    section = "## 14.1. May I sell copies?\n\nYes, you may."
    assert answer("May I sell copies?", passage(f"# Copies\n\n{contents}"), passage(section)) == "Yes, you may. [2]"
    clauses = "# Lease\n\n3.1 The rent is 90 euros.\n3.2 It is paid monthly.\n3.3 Pets are allowed.\n"
    assert "90 euros" in answer("What is the rent?", passage(clauses))


def test_a_heading_about_the_opposite_does_not_match() -> None:
    banned, dose = "Those who are allergic to it.", "Adults take one tablet."
    pages = passage(f"# Dolorin\n\n## Who must not take it?\n\n{banned}\n\n## Who may take it, and how much?\n\n{dose}")
    assert answer("Who must not take Dolorin?", pages) == f"{banned} [1]"
    assert answer("Who must take Dolorin?", pages) == f"{dose} [1]"
    assert answer("Who mustn’t take Dolorin?", pages) == f"{banned} [1]"


def test_a_heading_with_another_number_is_about_something_else() -> None:
    other = passage("## What does the number 409 mean?\n\nSomebody else rang the bell at the same time.")
    rest = passage("## Numbers of the porter\n\nThe bell may be rung later: the porter shows the number 429 then.")
    assert answer("What does the number 429 mean?", other, rest).startswith("The bell may be rung later")


class Similarity(SentenceSimilarity):
    """States that all texts are similar to the question."""

    def score_both_ways(self, document_id: uuid.UUID, start: int, end: int) -> float | None:
        return 0.5


def test_a_section_is_no_answer_if_the_best_part_of_another_passage_has_more_of_the_words() -> None:
    """Most of the question is in the heading, but what it is about is not. Within a passage the heading decides."""
    encryption = "## Encryption\n\nUse HTTPS: a key needs it."
    browser = "## Do I need a key?\n\nNo, a key is for programs."

    def answered(question: str, *texts: str) -> str:
        return render_quotes(extract_quotes(question, [passage(text) for text in texts], Similarity()))

    assert answered("Do I need HTTPS for a key?", encryption, browser).startswith("Use HTTPS")
    assert answered("Do I need a key?", encryption, browser) == "No, a key is for programs."
    assert answered("Do I need HTTPS for a key?", f"{encryption}\n\n{browser}") == "No, a key is for programs."


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ("When does the Lindau shop open?", "The Lindau shop"),
        ("When do you open?", "In Bregenz"),
        ("When do you open in Bregenz?", "In Bregenz"),
    ],
)
def test_a_sentence_farther_down_in_a_section_may_have_more_of_the_words(question: str, quoted: str) -> None:
    """What the question names is not at the beginning of the section that answers it."""
    first = f"In Bregenz from 8:00 to 18:30, {'and with a bell at the side door, ' * 5}on Saturdays until 12:00."
    second = f"The Lindau shop in the old mill is open from 9:00 to 13:00, {'which the council wanted, ' * 5}only."
    page = f"# Shops\n\n## When do you open?\n\n{first}\n\n{second}\n\n## Who pays?\n\nThe shop in Lindau."
    assert render_quotes(extract_quotes(question, [passage(page)], Similarity())).startswith(quoted)


_NEWS = """\
# News

## July 3 – Parade

Show your colours! Line up at the pond.

## The board

#### Ann Poole

Treasurer (since 2020)

She moved here from the coast in January.
"""


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When is the parade?", "July 3 – Parade: Show your colours! Line up at the pond. [1]"),
        ("Who is the treasurer?", "Ann Poole:\nTreasurer (since 2020)\nShe moved here from the coast in January. [1]"),
        ("Where do we line up?", "Show your colours! Line up at the pond. [1]"),
    ],
)
def test_a_quote_that_says_too_little_without_its_heading_has_it(question: str, text: str) -> None:
    """A few words, or no time if the question asks for one and the heading has it."""
    assert answer(question, passage(_NEWS)) == text


def test_empty_fields_of_a_form_are_not_quoted() -> None:
    form = "# Application\n\nColor of the gate: ____________\n\nHeight: .........\n\n"
    rule = "The gate is white or black.\n"
    assert answer("What color is the gate?", passage(form + rule)) == "The gate is white or black. [1]"
    setting = "Set `APP____KEY` to 5 before the start.\n\nThe key is kept for a week."
    assert answer("To what do I set the key before the start?", passage(setting)).startswith("Set")
