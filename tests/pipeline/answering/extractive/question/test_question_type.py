"""What the words of a question say about its answer."""

import pytest

from rag.pipeline.answering.extractive.question.question_type import (
    analyse_question,
    asked_term,
    find_codes,
    find_short_tokens,
    is_negated,
    is_yes_or_no,
    says_yes_or_no,
)
from tests.support.checks.growth import takes_linear_time


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What are its weight and price?", True),
        ("Where is it and what does it cost?", True),
        ("Where is it? What does it cost?", True),
        ("How do I measure it before and after a change?", False),
        ("Dov'è e quanto costa?", True),
        ("Onde fica e quanto custa?", True),
        ("Est-ce un cours en ligne ?", False),
        ("How do I switch it on and off?", False),
        ("How do I weigh it?", False),
    ],
)
def test_a_question_asks_two_things(question: str, expected: bool) -> None:
    assert analyse_question(question, ["en"]).asks_two_things is expected


@pytest.mark.parametrize(
    ("question", "is_open", "is_procedure"),
    [
        ("How do I weigh it?", True, True),
        ("Where is it?", True, False),
        ("I lost my key, how do I get a new one?", True, True),
        ("The bell rings. Why?", True, False),
        ("Ich habe den Schlüssel verloren, wie kann ich ihn ersetzen?", True, True),
        ("Wie lege ich ein Konto an?", True, True),
        ("Wie lange darf ich es behalten?", True, False),
        ("Der Schlüssel ist weg, was nun?", True, True),
        ("Show me an example", True, True),
        ("Can I weigh it?", False, False),
        ("Can I upload plans, which are scans?", False, False),
        ("Darf ich es wiegen, wenn ich gehe?", False, False),
        ("Come si pesa?", True, True),
        ("Dov'è la campana?", True, False),
        ("Ho perso la chiave, cosa devo fare?", True, True),
        ("Posso pesarla, quando parto?", False, False),
        ("Como faço para a pesar?", True, True),
        ("Quanto pesa o sino?", True, False),
        ("Perdi a chave, o que devo fazer?", True, True),
        ("Posso pesá-lo, quando sair?", False, False),
        ("Hoe kan ik hem wegen?", True, True),
        ("Hoe zwaar is de klok?", True, False),
        ("De sleutel is weg, wat nu?", True, True),
        ("Mag ik hem wegen, wanneer ik ga?", False, False),
        ("Puis-je venir, comme les autres ?", False, False),
        ("¿Entran los animales, como los perros?", False, False),
        ("May I come, or do I stay?", False, False),
        ("the weight of the bell", False, False),
    ],
)
def test_what_a_question_is_answered_by(question: str, is_open: bool, is_procedure: bool) -> None:
    analysed = analyse_question(question, ["en"])
    assert (analysed.is_open, analysed.is_procedure) == (is_open, is_procedure)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Non si può entrare.", True),
        ("Senza invito", True),
        ("Não pode entrar sem convite.", True),
        ("Honden mogen niet mee.", True),
        ("Er is geen haan.", True),
        ("Open to non-members", False),
        ("Taxe non comprise", False),
        ("Im Mai mit dem SEM", False),
    ],
)
def test_negations(text: str, expected: bool) -> None:
    assert is_negated(text) is expected


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Posso portare il cane?", "Sì, al guinzaglio."),
        ("Pode-se nadar?", "Não, é proibido."),
        ("É permitido nadar?", "Sim, às terças."),
        ("Mag ik zwemmen?", "Nee, dat mag niet."),
    ],
)
def test_yes_and_no(question: str, answer: str) -> None:
    assert is_yes_or_no(question)
    assert says_yes_or_no(answer)
    assert not is_yes_or_no(answer)


@pytest.mark.parametrize(
    ("question", "term"),
    [
        ("Che cos'è un gettone?", "gettone"),
        ("Cosa sono le quote?", "quote"),
        ("O que é uma quota?", "quota"),
        ("Wat is een quotum?", "quotum"),
        ("Wat kost een quotum?", ""),
    ],
)
def test_what_is_defined(question: str, term: str) -> None:
    assert asked_term(question) == term


def test_codes_are_found_once_and_in_their_order() -> None:
    """In any other order, processes would prefer different parts for a question with two codes."""
    text = "E-31 or e-12, F7_b, HX5 and MAX_AGE: not 12-13, -- E-series, 2024, _so_ or E-31"
    assert find_codes(text) == ("e-31", "e-12", "f7_b", "hx5", "max_age")


@pytest.mark.parametrize("part", ["-", "a-", "1-"])
def test_codes_are_found_in_linear_time(part: str) -> None:
    """A row of 16,000 hyphens took ten seconds, in a heading even for each part below it."""
    assert takes_linear_time(find_codes, lambda length, _: (part * length)[:length] + " E-12", 16_000)


@pytest.mark.parametrize("part", ["findet ", "take ", "fand", "a lieu ", "vindt ", "si ", "non "])
def test_what_happens_is_found_in_linear_time(part: str) -> None:
    assert takes_linear_time(lambda text: analyse_question(text, []), lambda n, _: (part * n)[:n], 4_000)


def test_that_something_takes_place_is_no_content() -> None:
    assert analyse_question("When does the party take place?", []).words == ("party",)
    assert analyse_question("Wann findet das Fest im Dorf statt?", ["de"]).words == ("fest", "dorf")
    assert analyse_question("Quando si svolge la festa del paese?", ["it"]).words == ("festa", "paese")
    assert analyse_question("Wanneer vindt het feest in het dorp plaats?", ["nl"]).words[:2] == ("feest", "dorp")
    assert analyse_question("Who will take my place, and find the lot?", []).words == ("take", "place", "find", "lot")


def test_short_tokens_are_numbers_and_single_letters_that_are_no_words() -> None:
    """Neither what is left of a contraction, nor an article, nor the mark of a plural or of a note."""
    text = "What's the price of a model S, 75 mm, for guest(s) of l'hôtel [12]?"
    assert find_short_tokens(text) == {"s", "75"}
    assert find_short_tokens(text.replace("model S", "model")) == {"75"}
