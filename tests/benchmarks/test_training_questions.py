"""Questions for training are made from headings, and each knows what answers it."""

import json
import random
from pathlib import Path

import pytest

from benchmarks.training.questions import read_markdown, read_squad

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
