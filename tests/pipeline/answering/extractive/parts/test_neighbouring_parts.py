"""Extractive answers: how much is quoted around the best part, and what is left out."""

from tests.support.passages import answer, passage

CONSTITUTION = """\
of the house, which is old.

  5.2. Choice of the porter

    1. The porter is chosen by the cooks.

    2. The vote begins in May.

  5.3. Duties

    The porter rings the bell and keeps the keys of the house, and nobody else may do so.
"""
MANUAL = """\
Tea can also be brewed by remote control. First find out the address of the kettle:

.. code-block:: console

    $ kettle --list
    kettle at 10.0.0.7
    kettle at 10.0.0.8

Then send it the number of cups.
"""


def test_numbered_titles_of_a_plain_text_are_headings_of_its_sections() -> None:
    steps = "1. The porter is chosen by the cooks.\n2. The vote begins in May. [1]"
    assert answer("How is the porter chosen?", passage(CONSTITUTION)) == steps
    faq = passage("14.1. May I sell tea?\n\nGo ahead. Nobody minds.\n\n14.2. May I sell cups?\n\nNo. They are lent.")
    assert answer("May I sell tea?", faq) == "Go ahead. Nobody minds. [1]"


def test_commands_of_a_plain_text_are_code_with_what_they_print_and_directives_are_not_shown() -> None:
    assert answer("How do I find the address of the kettle?", passage(MANUAL)) == (
        "Tea can also be brewed by remote control. First find out the address of the kettle:\n"
        "```\n$ kettle --list\nkettle at 10.0.0.7\nkettle at 10.0.0.8\n```\n"
        "Then send it the number of cups. [1]"
    )


def test_the_steps_of_a_procedure_are_quoted_with_the_commands_between_them() -> None:
    page = passage("## Moving the kettle\n\n1. Stop it.\n\n```\nkettle --stop\n```\n\n2. Carry it.\n3. Fill it again.")
    assert answer("How do I move the kettle?", page) == (
        "Moving the kettle:\n1. Stop it.\n```\nkettle --stop\n```\n2. Carry it.\n3. Fill it again. [1]"
    )


def test_a_list_of_steps_that_is_begun_is_quoted_to_its_end() -> None:
    details = "It stands in the cellar, where nobody else may go, beside the coal and the old bicycles. " * 3
    steps = [f"{number}. Open valve {number}. {details}".strip() for number in range(1, 7)]
    page = passage("## How do I start the boiler?\n\nOpen all valves:\n\n" + "\n".join(steps) + "\n\nThe cook waits.")
    assert answer("How do I start the boiler?", page) == "Open all valves:\n" + "\n".join(steps) + " [1]"
    assert answer("How do I turn the boiler on with valve 2?", page) == f"{steps[1]} [1]"
    short = [f"{number}. Open valve {number}. {details[:110]}".strip() for number in range(1, 13)]
    many = passage("## Boiler\n\nOpen all valves:\n\n" + "\n".join(short))
    assert answer("How do I turn valve 10 on?", many) == f"{short[9]} [1]"
    house = passage("## How do I start the boiler?\n\nOpen all valves:\n\n" + "\n".join(steps * 3))
    assert len(answer("How do I start the boiler?", house)) < 2_000


def test_marks_of_quotations_pictures_and_remarks_in_brackets_are_not_shown() -> None:
    page = passage(
        "# House\n\n## How do I order tea?\n\n(Version >= 2)\n\n> Ring the bell\n> of the hall.\n\n![bell](bell.png)\n"
    )
    assert answer("How do I order tea?", page) == "Ring the bell of the hall. [1]"


def test_a_section_that_is_too_long_begins_with_its_first_paragraph_and_goes_on_with_the_best_one() -> None:
    house = " ".join(f"Hall {number} has a door and {number + 5} windows." for number in range(30))
    page = passage(
        f"## How are letters closed?\n\nSome are secret.\n\n{house}\n\nPut wax on the letters: this keeps them closed."
    )
    assert answer("How are letters closed?", page) == (
        "Some are secret. [1] Put wax on the letters: this keeps them closed. [1]"
    )


def test_a_second_part_is_quoted_only_for_another_aspect_of_the_question() -> None:
    tea, bicycle = passage("Tea is served in the hall."), passage("The bicycle of the porter has a green colour.")
    assert answer("Where is tea served?", tea, passage("In the hall tea is served at five.")) == f"{tea.text} [1]"
    both = answer("Where is tea served and which colour has the bicycle of the porter?", tea, bicycle)
    assert both == f"{bicycle.text} [2] {tea.text} [1]"
    one = answer("Where is tea served with a bicycle of a green colour?", tea, bicycle)
    assert one.count("[") == 1


def test_a_second_part_in_a_far_less_relevant_passage_is_not_quoted() -> None:
    question = "Where is the button, and which rights are there?"
    others = " ".join(f"Entry {number} opens a window." for number in range(6))
    too_long = " ".join(f"Entry {number} needs rights{' and more' * 60}." for number in range(3))
    menu = passage(f"# Menu\n\nThe button is in the menu. {others} {too_long}", relevance=0.99)
    rights = "All rights reserved."
    assert rights in answer(question, menu, passage(f"# About\n\n{rights}", relevance=0.98))
    assert rights not in answer(question, menu, passage(f"# About\n\n{rights}", relevance=0.2))


def test_when_within_a_question_does_not_ask_for_a_time() -> None:
    page = passage(
        "## Keys\n\nA key is lent for 30 days.\n\n## Leaving\n\nWhoever leaves the house may keep the key of the house."
    )
    assert "may keep the key" in answer("Can I keep my key when I leave the house?", page)


def test_an_item_that_is_a_paragraph_is_quoted_alone_unless_steps_are_asked_for() -> None:
    """Items of minutes, for example, are about different things."""
    minutes = passage(
        "Minutes of the tea round\n\nPresent: all five cooks.\n\n"
        "1. Cups. The old cups are given to the school. New ones are bought from the potter.\n\n"
        "2. Prices. The price of the tea rises because the contract with the grower was renewed.\n\n"
        "3. Garden party. It takes place at the boat house. Families are welcome."
    )
    party = "3. Garden party. It takes place at the boat house. Families are welcome. [1]"
    assert answer("Where is the garden party?", minutes) == party
    prices = "2. Prices. The price of the tea rises because the contract with the grower was renewed. [1]"
    assert answer("Why does the price of tea rise?", minutes) == prices


def test_without_steps_the_best_paragraph_is_quoted_alone() -> None:
    paragraphs = "The hall is old.\n\nTea is served in the hall at five.\n\nVisitors like the hall and its windows."
    page = passage(f"## The house\n\n{paragraphs}")
    assert answer("Where is tea served?", page) == "Tea is served in the hall at five. [1]"
    assert answer("How do I get tea served?", page) == "Tea is served in the hall at five. [1]"


def test_what_to_do_is_answered_from_the_beginning_of_the_section_with_the_steps() -> None:
    page = passage(
        "## Trouble in the kitchen\n\nThe kettle is often loud.\n\nWhen the boiler of the house leaks:\n\n"
        "1. Close the valve.\n2. Call the porter.\n\n## Cups\n\nThey are upstairs."
    )
    steps = "When the boiler of the house leaks:\n1. Close the valve.\n2. Call the porter. [1]"
    assert answer("What must I do if the boiler leaks?", page) == f"The kettle is often loud.\n{steps}"
    assert answer("Which valve is closed when the boiler leaks?", page) == steps
    items = "- Look for the leak of the boiler.\n\n- Ask who saw it.\n\n- Call the porter."
    unnumbered = passage(f"## Trouble\n\n{items}\n\n## Cups\n\nThey are upstairs.")
    assert answer("What do I do if the boiler leaks?", unnumbered).replace("\n", "\n\n") == f"{items} [1]"


def test_an_introduction_whose_list_is_not_quoted_is_left_out() -> None:
    page = passage(
        "## How do I rent a boat?\n\nWhoever rents a boat needs this:\n\n![papers](papers.png)\n\n"
        "The porter opens the shed at nine."
    )
    assert answer("How do I rent a boat?", page) == "The porter opens the shed at nine. [1]"


def test_a_numbered_clause_is_quoted_alone() -> None:
    contract = passage(
        "3.1 The tenant pays the rent on the first day of the month.\n"
        "3.2 The tenant keeps the stairs clean and waters\nthe plants of the yard.\n"
        "3.3 The landlord repairs the roof."
    )
    clause = "3.2 The tenant keeps the stairs clean and waters the plants of the yard. [1]"
    assert answer("Who waters the plants?", contract) == clause
    assert answer("How do I keep the stairs clean?", contract) == clause
    titled = passage(
        "1. Object. The landlord lets a room.\n\n2. Term. The lease may be ended in May.\n\n3. Rent. It is 85 euros."
    )
    assert answer("How can the lease be ended?", titled) == "2. Term. The lease may be ended in May. [1]"


def test_a_second_paragraph_that_goes_on_is_quoted_too_if_the_section_is_short() -> None:
    text = "# House\n\n## The porter\n\nThe porter keeps all keys of the house.\n\nNobody can dismiss the porter.\n\n{}"
    short, long = (passage(text.format(end)) for end in ("", "A cook carries many cups every morning. " * 12))
    both = "The porter keeps all keys of the house.\nNobody can dismiss the porter. [1]"
    assert answer("Who keeps the keys?", short) == both
    assert answer("When does the porter get the keys?", short) == "The porter keeps all keys of the house. [1]"
    assert answer("Who keeps the keys?", long) == "The porter keeps all keys of the house. [1]"
