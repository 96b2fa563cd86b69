"""The clauses of a question, and what is left out of them."""

import pytest

from rag.pipeline.retrieval.query.split_clauses import select_clauses, split_clauses


@pytest.mark.parametrize(
    ("question", "clauses"),
    [
        (
            "We moved to a new office, how do I change the address?",
            ("We moved to a new office", "how do I change the address?"),
        ),
        (
            "A painter is leaving us. How do I lock the account?",
            ("A painter is leaving us.", "How do I lock the account?"),
        ),
        (
            "How do I change the language because half our manuals are German?",
            ("How do I change the language", "because half our manuals are German?"),
        ),
        ("Can I change my password – for the new laptop?", ("Can I change my password", "for the new laptop?")),
        ("Can I see who asked what, and why?", ("Can I see who asked what", "and why?")),
        ("How do I change the address?", ()),
        ("Version 1.5 needs 3.20 seconds more", ()),
        ("", ()),
    ],
)
def test_clauses_end_at_punctuation_and_conjunctions(question: str, clauses: tuple[str, ...]) -> None:
    assert split_clauses(question) == clauses


@pytest.mark.parametrize(
    ("clauses", "gaps", "questions", "statements"),
    [
        (["can I restrict a search", "say tram timetables?"], ["tram timetables"], ["can I restrict a search"], []),
        (["may I search the tram timetables by title?"], ["tram timetables"], ["may I search the by title?"], []),
        (["a worker was killed last night and lost rows"], [], [], ["a worker was killed and lost rows"]),
        (["nobody can change an address since Monday"], [], [], ["nobody can change an address"]),
        # What is asked for at a time keeps it
        (["is the library open at night?"], [], ["is the library open at night?"], []),
        # "when" and "who" may begin a clause that does not ask
        (
            ["when guests arrive at the gate", "who is at the garden gate?"],
            [],
            ["who is at the garden gate?"],
            ["when guests arrive at the gate"],
        ),
        (["who has the key of the gate?"], [], ["who has the key of the gate?"], []),
        (["does it work with AT&T lines in town?"], ["AT&T"], [], []),
        # Another word that contains the gap stays
        (["may I rename the team of teammates?"], ["team"], ["may I rename the of teammates?"], []),
        # Too little is left, or there is too little
        (["which glue is for chairs?"], ["glue", "chairs"], [], []),
        (["and why?", "what is the tuba?"], [], [], []),
        # Names and numbers are what a clause is about
        (["does it work with Salesforce or SAP?"], ["Salesforce"], [], []),
        (["may I upload 700 files at once?"], ["700"], [], []),
        # What is asked has a gap: a statement is no answer
        (["we lost the key of the cellar", "where is the tuba?"], ["tuba"], [], []),
        (["we lost the tuba of the band", "who knows?"], ["tuba"], [], ["we lost the of the band"]),
        (["we lost the key", "so where is the box of keys"], [], ["so where is the box of keys"], ["we lost the key"]),
    ],
)
def test_clauses_are_searched_without_what_no_passage_mentions(
    clauses: list[str], gaps: list[str], questions: list[str], statements: list[str]
) -> None:
    assert select_clauses(clauses, gaps) == (tuple(questions), tuple(statements))


def test_at_most_two_clauses_of_a_bounded_text_are_searched() -> None:
    clauses = split_clauses("we change the old address, " * 100)
    assert len(clauses) < 20
    assert [len(texts) for texts in select_clauses(clauses, [])] == [0, 2]
