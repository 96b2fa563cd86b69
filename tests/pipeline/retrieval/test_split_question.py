"""Dividing two questions that are asked in one."""

import pytest

from rag.pipeline.retrieval.query.split_question import split_question


@pytest.mark.parametrize(
    ("question", "halves"),
    [
        (
            "Where are the log files, and how do I set the log level?",
            ("Where are the log files", "how do I set the log level?"),
        ),
        ("Where are the logs? Can I delete them?", ("Where are the logs", "Can I delete the logs?")),
        ("How often are they synced, and can I start a sync?", ("How often are they synced", "can I start a sync?")),
        ("Wo liegen die Protokolle und wie löscht man sie?", ("Wo liegen die Protokolle", "wie löscht man sie?")),
        ("Dove sono i registri e come si cancellano?", ("Dove sono i registri", "come si cancellano?")),
        ("Onde estão os registos e quem os apaga?", ("Onde estão os registos", "quem os apaga?")),
        (
            "Waar staan de verslagen en hoe verwijder ik een verslag?",
            ("Waar staan de verslagen", "hoe verwijder ik een verslag?"),
        ),
        ("Who can see and who can delete?", ("Who can see", "who can delete?")),
        # The beginning of both, and what a pronoun means
        ("How do I create a team and rename it later?", ("How do I create a team", "How do I rename a team later?")),
        (
            "How do I create a key for a program and revoke it?",
            ("How do I create a key for a program", "How do I revoke a key?"),
        ),
        (
            "How do I invite a new colleague and put them in a team?",
            ("How do I invite a new colleague", "How do I put a new colleague in a team?"),
        ),
        ("How can we set up teams, and then delete them?", ("How can we set up teams", "How can we delete teams?")),
        ("How to mount a disk and check it", ("How to mount a disk", "How to check a disk")),
        ("How do I add a member and a team?", ("How do I add a member", "How do I add a team?")),
        (
            "Can I limit a search to a folder or a tag?",
            ("Can I limit a search to a folder", "Can I limit a search to a tag?"),
        ),
        (
            "Can I rename or delete a team over the API?",
            ("Can I rename a team over the API?", "Can I delete a team over the API?"),
        ),
        (
            "How do I switch the page to dark mode or another language?",
            ("How do I switch the page to dark mode", "How do I switch the page to another language?"),
        ),
        (
            "Can I restrict a key to reading only, or to certain documents?",
            ("Can I restrict a key to reading only", "Can I restrict a key to certain documents?"),
        ),
        (
            "How long are audit entries kept and can I export them?",
            ("How long are audit entries kept", "can I export audit entries?"),
        ),
        (
            "How often is a connected source synced and can I start it by hand?",
            ("How often is a connected source synced", "can I start a connected source by hand?"),
        ),
        ("How do I upload a file and how big can it be?", ("How do I upload a file", "how big can a file be?")),
        ("Is there free parking or wifi?", ("Is there free parking", "Is there wifi?")),
        (
            "When does the museum open and how much is admission?",
            ("When does the museum open", "how much is admission?"),
        ),
        ("How do I rotate the keys and what is SCIM?", ("How do I rotate the keys", "what is SCIM?")),
        ("Is there an API or command line?", ("Is there an API", "Is there an command line?")),
        # One question
        ("How do I add members and teams?", ()),
        ("How do I start and stop?", ()),
        ("How can I tell that a reply was wrong or not helpful?", ()),
        ("What is the difference between a member and a team?", ()),
        ("What is it and where is it?", ()),
        ("How do I see which page and document it comes from?", ()),
        # Only the first question says what the second one is about
        ("I get a 429, what does it mean and how long should I wait?", ("I get a 429, what does it mean",)),
        ("Which guided tours are there and what is included?", ("Which guided tours are there",)),
        ("How long is a login token valid and how do I get a new one?", ("How long is a login token valid",)),
        ("How many workers should I run and how do I add more?", ("How many workers should I run",)),
        # It is unclear what the pronoun means
        ("How long are questions kept, and can I shorten it?", ()),
        ("Can I use it at home, and how do I update it?", ()),
        ("How long are logs kept, and can I change that?", ()),
        ("How do I choose a model, and which ones are there?", ()),
        ("How do I create a team and rename it and delete it?", ()),
        ("Where is it, and what is a log, and why?", ()),
    ],
)
def test_two_questions_are_divided_so_that_each_can_be_understood_alone(question: str, halves: tuple[str, ...]) -> None:
    assert split_question(question) == halves
