"""Questions for training are made from headings, and each knows what answers it."""

import json
import random
from pathlib import Path

import pytest

from benchmarks.training.answer_check.squad_pairs import read_squad_pairs
from benchmarks.training.multilingual_questions.articles import embed_articles
from benchmarks.training.questions import AnsweredQuestion, Text, read_markdown, read_squad

GUIDE = """\
# Guide

Everything that administrators of the server need to know is in this guide.

## Installing plugins

Copy the file of the plugin to the folder `plugins`, and start the server again.

## Overview

This section lists the parts of the server, and what each of them is needed for.

## Why is the server slow?

A server with little memory reads everything from the disk, which takes a long time.
"""


def test_headings_become_questions_that_their_sections_answer(tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text(GUIDE)
    texts, questions = read_markdown([tmp_path], random.Random(1))
    answers = {item.question: texts[item.text_index].text[item.start : item.end] for item in questions}
    assert len(answers) == 2, "neither the title nor a heading that says nothing"
    (installing,) = (question for question in answers if question.endswith("install plugins?"))
    assert answers[installing].startswith("Copy the file")
    assert answers["Why is the server slow?"].endswith("a long time.")
    assert all("Installing" not in text.text for text in texts), "the answer is to be recognised without its heading"


@pytest.mark.parametrize("heading", ["Overview", "1.2", "Über uns", "Options", "A very long heading " * 9])
def test_headings_that_say_nothing_are_no_questions(tmp_path: Path, heading: str) -> None:
    (tmp_path / "guide.md").write_text(f"# Guide\n\n{'First. ' * 20}\n\n## {heading}\n\n{'Then. ' * 20}\n")
    assert read_markdown([tmp_path], random.Random(1))[1] == []


def test_answers_of_squad_keep_their_places(tmp_path: Path) -> None:
    answer = {"answer_start": 4, "text": "mill"}
    paragraph = {"context": "The mill burnt down.", "qas": [{"question": " What burnt down? ", "answers": [answer]}]}
    file = tmp_path / "train.json"
    file.write_text(json.dumps({"data": [{"title": "Old_mill", "paragraphs": [paragraph]}]}))
    (text,), (question,) = read_squad(file, random.Random(1))
    assert (text.title, question.question) == ("Old mill", "What burnt down?")
    assert text.text[question.start : question.end] == "mill"


def squad_article(title: str, paragraphs: int) -> dict[str, object]:
    """An article about mills. Each sentence of a paragraph says what one of them had, and each question asks for it."""
    contexts = [
        " ".join(f"The mill number {place}{mill} of {title} had the wheel w{place}{mill}." for mill in range(5))
        for place in range(10, 10 + paragraphs)
    ]
    return {
        "title": title,
        "paragraphs": [
            {
                "context": context,
                "qas": [{"question": "Mill?", "answers": [{"text": "The mill", "answer_start": 0}]}]
                + [
                    {
                        "question": f"Which wheel had the mill number {place}{mill}?",
                        "answers": [{"text": f"w{place}{mill}", "answer_start": context.index(f"w{place}{mill}")}],
                    }
                    for mill in range(5)
                ],
            }
            for place, context in enumerate(contexts, 10)
        ],
    }


def test_pairs_of_squad_are_bounded_by_article(tmp_path: Path) -> None:
    file = tmp_path / "squad.json"
    articles = [squad_article("Ardley", 4), squad_article("Bexton", 5), squad_article("Corby", 6)]
    file.write_text(json.dumps({"data": [*articles, squad_article("Shortley", 2)]}))
    pairs = read_squad_pairs(file, random.Random(1), questions_per_article=3)
    for title in ("Ardley", "Bexton", "Corby"):
        of_article = [pair for pair in pairs if title in pair.quote]
        assert len({pair.question for pair in of_article}) == 3
        assert {pair.is_right for pair in of_article} == {True, False}
        for pair in of_article:
            answer = pair.question.removesuffix("?").replace("Which wheel had the mill number ", "w")
            assert (answer in pair.quote) == pair.is_right, pair
    assert not [pair for pair in pairs if "Shortley" in pair.quote], "similar sentences are too few"
    assert pairs == read_squad_pairs(file, random.Random(1), questions_per_article=3)


def test_articles_that_measure_are_no_pairs(tmp_path: Path) -> None:
    file = tmp_path / "squad.json"
    file.write_text(json.dumps({"data": [squad_article("Ardley", 4), squad_article("Bexton", 4)]}))
    text = "A question.\n" + " ".join(
        f"The mill number 12{mill} of Bexton had the wheel w12{mill}." for mill in range(4)
    )
    pairs = read_squad_pairs(file, random.Random(1), questions_per_article=3, measuring_text=text)
    assert pairs
    assert not [pair for pair in pairs if "Bexton" in pair.quote]


def test_questions_are_embedded_with_the_sentence_that_answers_them() -> None:
    texts = [
        Text("Boats", "Boats are blue here. They cost 12 euros a day. Ask Ms Tyndall for them.", "boats"),
        Text("Keys", "The keys hang beside the door.", "boats"),
        Text("Bells", "Nobody asks about the bells.", "bells"),
    ]

    def ask(question: str, text_index: int, answer: str) -> AnsweredQuestion:
        start = texts[text_index].text.index(answer)
        return AnsweredQuestion(question, text_index, start, start + len(answer))

    questions = [
        ask("What does a boat cost?", 0, "12 euros"),
        ask("Where are the keys?", 1, "beside the door"),
        ask("What about boats?", 0, "a day. Ask Ms Tyndall"),  # in no single sentence
    ]
    (article,) = embed_articles(texts, questions)
    assert article.passages == [range(3), range(3, 4)]
    assert article.answers == [(0, 1), (1, 3)]
    assert article.sentences.shape == (4, 512)
    assert article.questions.shape == (2, 512)
