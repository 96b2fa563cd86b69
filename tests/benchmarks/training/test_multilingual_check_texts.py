"""The texts that the model for other languages is trained with: sentences, their translations, and replaced words."""

import json
import random
from itertools import islice
from pathlib import Path

from benchmarks.training.multilingual_check.groups import Group, alternate, keep_logits, repeat
from benchmarks.training.multilingual_check.mixed_languages import mix_languages
from benchmarks.training.multilingual_check.parallel_texts import (
    LANGUAGES,
    ParallelTexts,
    parallel_groups,
    read_parallel_texts,
)
from benchmarks.training.multilingual_check.word_translations import (
    Translations,
    find_associated_words,
    replace_words,
)

SENTENCES = 8


def texts_of(folder: Path) -> ParallelTexts:
    """Write sources whose sentences are "<language> sentence <number>", and read them."""
    ntrex, tatoeba, messages = (folder / name for name in ("ntrex", "tatoeba", "messages"))
    for path in (ntrex / "NTREX-128", tatoeba, messages / "switch"):
        path.mkdir(parents=True)
    (ntrex / "DOCUMENT_IDS.tsv").write_text("article\n" * SENTENCES)
    for lang, name in {"en": "src.eng", **{lang: f"ref.{code}" for lang, (_, code, _) in LANGUAGES.items()}}.items():
        lines = "".join(f"{lang} sentence {number}\n" for number in range(SENTENCES))
        (ntrex / "NTREX-128" / f"newstest2019-{name}.txt").write_text(lines)
    (tatoeba / "tatoeba.deu-eng.deu").write_text("Es regnet.\nEs schneit.\nEs ist heiß.\n")
    (tatoeba / "tatoeba.deu-eng.eng").write_text("It rains.\nIt snows.\nIt is hot.\n")
    english = {"on": "Turn the lamp on now", "off": "Turn the lamp off now", "url": "See https://lamp.example for more"}
    german = {"on": "Schalte die Lampe ein", "off": "Schalte die Lampe aus", "url": "Siehe https://lamp.example"}
    (messages / "switch" / "en.json").write_text(json.dumps({"title": english}))
    (messages / "switch" / "de.json").write_text(json.dumps({"title": german}))
    return read_parallel_texts(ntrex, tatoeba, [messages])


def test_sources_are_read_in_pairs(tmp_path: Path) -> None:
    texts = texts_of(tmp_path)
    assert texts.pairs("de") == [
        *((f"en sentence {number}", f"de sentence {number}") for number in range(SENTENCES)),
        ("It rains.", "Es regnet."),
        ("It snows.", "Es schneit."),
        ("It is hot.", "Es ist heiß."),
        ("Turn the lamp on now", "Schalte die Lampe ein"),
        ("Turn the lamp off now", "Schalte die Lampe aus"),
    ]


def test_a_sentence_asks_for_the_only_text_with_its_translation(tmp_path: Path) -> None:
    for group in islice(parallel_groups(texts_of(tmp_path), random.Random(5)), 200):
        (right,) = [text for text, is_right in group.texts if is_right]
        wrong = [text for text, is_right in group.texts if not is_right]
        assert len(wrong) == 2
        number = group.question.split(" ")[-1]
        if number.isdigit():
            assert number in right
            assert all(number not in text for text in wrong)
        else:
            assert right not in wrong


def test_words_that_occur_together_are_translations() -> None:
    pairs = [
        ("the water is cold", "das Wasser ist kalt"),
        ("we drink water", "wir trinken Wasser"),
        ("water", "Wasser"),
    ]
    others = [("the tea is cold", "der Tee ist kalt"), ("we drink tea", "wir trinken Tee")]
    assert find_associated_words([*pairs, *others], "de")["water"] == [("wasser", 1.0)]
    assert "tea" not in find_associated_words([*pairs, *others], "de")  # in two pairs only
    unspaced = [("the water is cold", "水很冷"), ("we drink water", "我们喝水"), ("water here", "这里有水")]
    assert [word for word, _ in find_associated_words(unspaced, "zh")["water"]] == ["水"]


def test_question_words_and_others_are_replaced() -> None:
    translations = Translations({"tea": {"CJK": [("茶", 0.9)]}}, {"de": {"water": [("wasser", 1.0)]}})
    generator = random.Random(1)
    assert replace_words("How many cups of Water?", translations, "nl", 0.0, generator) == "How many cups of Water?"
    german = replace_words("How many cups? Water", translations, "de", 1.0, generator)
    assert german == "wie viele cups? Wasser"
    assert replace_words("Where the tea? Where tea?", translations, "zh", 1.0, generator).count("茶？") == 2


def test_a_group_keeps_its_labels() -> None:
    group = Group("What is water?", [("Water is wet.", True), ("Tea is hot.", False)])
    translations = Translations({}, {})
    for seed in range(50):
        mixed = mix_languages(group, translations, random.Random(seed))
        assert [is_right for _, is_right in mixed.texts] == [True, False]


def test_a_group_whose_logits_are_kept_stays_one_in_other_languages() -> None:
    (kept,) = keep_logits([Group("What is water?", [("Water is wet.", True)])])
    assert kept.keeps_logits
    assert mix_languages(kept, Translations({}, {}), random.Random(1)).keeps_logits


def test_groups_of_streams_are_drawn_by_their_shares() -> None:
    generator = random.Random(4)
    streams = {name: repeat([Group(f"{name} {number}", []) for number in range(3)], generator) for name in ("a", "b")}
    drawn = [group.question for group in islice(alternate(streams, {"a": 0.9, "b": 0.1, "c": 5}, generator), 300)]
    assert set(drawn) == {"a 0", "a 1", "a 2", "b 0", "b 1", "b 2"}
    assert 240 < sum(question.startswith("a") for question in drawn) < 295
    of_a = [question for question in drawn if question.startswith("a")]
    assert all(set(of_a[start : start + 3]) == {"a 0", "a 1", "a 2"} for start in range(0, 240, 3))
