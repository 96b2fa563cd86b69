"""Which texts have no name of a company, although it is asked for."""

import pytest

from rag.pipeline.answering.quote_checks.missing_facts.company_names import lacks_name
from tests.support.checks.growth import takes_linear_time


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which company cleans the hut?", "The hut is cleaned by Miller and Sons."),
        ("Quale ditta pulisce la sala?", "La sala è pulita da Zanella."),
        ("Que empresa limpa a sala?", "A sala é limpa pela Termoluz."),
        ("Welk bedrijf maakt de zaal schoon?", "De zaal wordt door Waterman schoongemaakt."),
        ("Which company cleans the hut?", "Our own staff cleans the hut."),
        ("Which company cleans the hut?", "The company of the owner cleans the hut."),
        ("Which company cleans the hut?", "The hut is cleaned by a company every Monday."),
        ("Which company cleans the hut?", "A cleaning firm from the village, which also does the windows."),
        ("Which company removes the sludge?", "Veolia removes the sludge twice a year."),
        ("Which company maintains the lift?", "Maintenance of the lift: Schindler"),
        ("Which supplier delivers the toner?", "- Toner: Brother"),
        ("Which brand of tyres does the van have?", "Michelin."),
        ("Which publisher issued the manual?", "O'Reilly issued it."),
        ("Which company supplies the ink?", "The ink is delivered by Łuczak."),
        ("Which company supplies the software?", "软件由华为提供。"),
        ("Which company brand do you sell?", "| brand | price |\n| --- | --- |\n| Heron | 2 |"),
        ("Which bank charges are refunded?", "Fees for cash machines abroad are refunded."),
        ("Which company cars may be used privately?", "Cars of the smallest class may be used privately."),
        ("Which company do the trainees work for?", "They work for various local businesses."),
        ("What is the name of the default branch?", "The default branch is main."),
        ("What is the name of the file?", "The file is in the folder."),
        ("Who cleans the hut?", "The hut is cleaned by a company on Monday."),
        ("Quelle entreprise nettoie les bureaux ?", "Onet nettoie les bureaux."),
        ("Comment changer le nom de mon équipe ?", "Ouvrez la page de l'équipe et cliquez sur le crayon."),
        ("¿Qué banco usamos?", "Santander."),
    ],
)
def test_texts_that_may_have_the_name(question: str, text: str) -> None:
    assert not lacks_name(question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which company cleans the hut?", "The hut is cleaned by a company on Monday."),
        ("Quale ditta pulisce la sala?", "La sala è pulita da una ditta il lunedì."),
        ("Que empresa limpa a sala?", "A sala é limpa por uma empresa na segunda-feira."),
        ("Welk bedrijf maakt de zaal schoon?", "De zaal wordt op maandag schoongemaakt."),
        ("Which company cleans the hut?", "Floors: swept by a company on Monday."),
        ("Which company removes the sludge?", "The sludge must be removed before winter."),
        ("Which insurer covers the boats?", "The boats are insured against fire."),
        (
            "What is the name of the insurance company that pays?",
            "You pay a part. We collect the rest from the insurer.",
        ),
        ("Quelle banque gère le compte ?", "Le compte est géré par le trésorier."),
        ("¿Qué empresa limpia las oficinas?", "Las oficinas se limpian los lunes."),
    ],
)
def test_texts_without_the_name(question: str, text: str) -> None:
    assert lacks_name(question, text)


@pytest.mark.parametrize("part", ["A", "A-", "A'", "a", "Ab ", ". ", "\n- ", "company ", "which company "])
def test_names_are_found_in_linear_time(part: str) -> None:
    def find(text: str) -> None:
        lacks_name("Which company is it?", text)
        lacks_name(text, "A company is it.")

    assert takes_linear_time(find, lambda length, _: (part * length)[:length], 2_000)
