"""Extractive answers that are the beginning of a section."""

from .test_extract import answer, passage

MESSAGE = "Open the page again. You get a message with a link, which works once."
SIGN_IN = f"# Sign in\n\n## I have forgotten my password: what can I do?\n\n{MESSAGE}"
LOCKS = "# Locks\n\nA reset of a forgotten password is logged, and so is a lock. Passwords are never logged."


def test_a_question_in_the_best_passage_needs_a_weaker_match() -> None:
    question = "How do I reset my forgotten password?"
    assert answer(question, passage(SIGN_IN), passage(LOCKS)) == f"{MESSAGE} [1]"
    assert MESSAGE not in answer(question, passage(LOCKS), passage(SIGN_IN))


def test_a_sentence_that_only_leads_elsewhere_is_no_answer() -> None:
    pointers = "See [Scanned documents](send.md).\n\nScanned pages are read, and pictures too."
    assert answer("Can I send scanned documents?", passage(pointers)) == "Scanned pages are read, and pictures too. [1]"
