"""Language detection, and the names that PostgreSQL and Snowball have for languages."""

import importlib.metadata
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import snowballstemmer
from django.conf import settings
from django.db import connection
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from rag.text import languages
from rag.text.sentences.unspaced_scripts import count_words, is_mostly_unspaced

FOLDER = f"py3langid.{importlib.metadata.version('py3langid')}"
PARAGRAPHS = {
    "en": [
        "The desk in the hall keeps the spare keys until six in the evening.",
        "Anyone who arrives late should ring the bell twice and wait for the porter.",
        "Bicycles are parked in the yard behind the kitchen, never in the corridor.",
    ],
    "de": [
        "Die Fahrräder stehen im Hof hinter der Küche und nicht im Flur.",
        "Wer nach zehn Uhr kommt, klingelt bitte zweimal und wartet auf den Pförtner.",
        "Ersatzschlüssel gibt es am Empfang gegen Vorlage eines Ausweises.",
    ],
    "fr": [
        "Les vélos sont garés dans la cour, derrière la cuisine.",
        "Après dix heures du soir, il faut sonner deux fois et attendre le gardien.",
        "Les clés de rechange se trouvent à l'accueil jusqu'à dix-huit heures.",
    ],
    "es": [
        "Las bicicletas se dejan en el patio, detrás de la cocina.",
        "Quien llegue después de las diez debe llamar dos veces al timbre.",
        "Las llaves de repuesto están en la recepción hasta las seis de la tarde.",
    ],
    "it": [
        "Le biciclette si lasciano nel cortile dietro la cucina.",
        "Chi arriva dopo le dieci deve suonare due volte e aspettare il portiere.",
        "Le chiavi di riserva si trovano all'ingresso fino alle sei di sera.",
    ],
    "pt": [
        "As bicicletas ficam no pátio, atrás da cozinha, e nunca no corredor.",
        "Quem chegar depois das dez deve tocar duas vezes à campainha.",
        "As chaves de reserva estão na receção até às seis da tarde.",
    ],
    "nl": [
        "De fietsen staan op de binnenplaats achter de keuken.",
        "Wie na tien uur komt, belt twee keer en wacht op de portier.",
        "Reservesleutels liggen tot zes uur bij de balie in de hal.",
    ],
    "sv": [
        "Cyklarna står på gården bakom köket och aldrig i korridoren.",
        "Den som kommer efter klockan tio ringer två gånger och väntar på vakten.",
        "Reservnycklarna finns i receptionen fram till klockan sex.",
    ],
    "pl": [
        "Rowery stoją na podwórzu za kuchnią, nigdy na korytarzu.",
        "Kto przychodzi po dziesiątej, dzwoni dwa razy i czeka na portiera.",
        "Zapasowe klucze leżą w recepcji do szóstej wieczorem.",
    ],
    "fi": [
        "Polkupyörät jätetään pihalle keittiön taakse, ei koskaan käytävään.",
        "Kymmenen jälkeen saapuva soittaa kelloa kahdesti ja odottaa vahtimestaria.",
        "Vara-avaimet ovat vastaanotossa kello kuuteen asti.",
    ],
    "tr": [
        "Bisikletler mutfağın arkasındaki avluya bırakılır, koridora değil.",
        "Saat ondan sonra gelenler zili iki kez çalıp kapıcıyı bekler.",
        "Yedek anahtarlar akşam altıya kadar danışmada bulunur.",
    ],
    "ru": [
        "Велосипеды стоят во дворе за кухней, а не в коридоре.",
        "Кто приходит после десяти, звонит два раза и ждёт привратника.",
        "Запасные ключи хранятся на стойке до шести часов вечера.",
    ],
    "el": [
        "Τα ποδήλατα μένουν στην αυλή πίσω από την κουζίνα.",
        "Όποιος έρχεται μετά τις δέκα χτυπά δύο φορές το κουδούνι.",
        "Τα εφεδρικά κλειδιά βρίσκονται στην υποδοχή μέχρι τις έξι.",
    ],
    "ja": [
        "自転車は台所の裏の中庭に置いてください。",
        "十時以降に着いた人は、ベルを二回鳴らして待ってください。",
        "予備の鍵は夕方六時まで受付にあります。",
    ],
    "ar": [
        "توضع الدراجات في الفناء خلف المطبخ وليس في الممر.",
        "من يصل بعد العاشرة يقرع الجرس مرتين وينتظر البواب.",
        "المفاتيح الاحتياطية موجودة في الاستقبال حتى السادسة مساء.",
    ],
}
KNOWN = [(lang, paragraph) for lang, paragraphs in PARAGRAPHS.items() for paragraph in paragraphs]


def test_short_paragraphs_in_fifteen_languages_are_detected() -> None:
    wrong = [(lang, paragraph) for lang, paragraph in KNOWN if languages.detect_language(paragraph) != lang]
    assert wrong == []


@pytest.mark.parametrize(
    "text",
    ["", " ", "Zebra", "4711 0815", "https://example.org/de/die-seite", "x = y + 1", "OK", "\ud800", "a@b.example"],
)
def test_texts_without_words_have_no_language(text: str) -> None:
    assert languages.detect_language(text) == ""


ENGLISH_PROSE = (
    "You may leave what you do not need in the yard, but not before six, and only if there is room for it. Those who "
    "come from the station should ask at the desk which of the doors is open, because all others are shut by then."
)


def test_english_prose_is_recognised_without_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "identifier", lambda: pytest.fail("the model was asked"))
    assert languages.detect_language(ENGLISH_PROSE) == "en"
    assert languages.detect_language(f"Wi-Fi-Café, 12/2024:\n\n{ENGLISH_PROSE.upper()}") == "en"


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        (f"{ENGLISH_PROSE} {'彼女は台所の裏の中庭に自転車を置いた。' * 60}", "ja"),
        (f"{' '.join(PARAGRAPHS['de'])} {ENGLISH_PROSE[:130]}", "de"),
        ("let key for key in keys { use self; let key = self.key; for each in keys { use key; } } " * 4, ""),
    ],
    ids=["much in a script without spaces", "much in another language", "the same words again and again"],
)
def test_text_with_english_words_is_left_to_the_model(text: str, lang: str) -> None:
    assert languages.detect_language(text) == lang


def test_code_urls_and_numbers_are_ignored() -> None:
    noise = "```python\nfor each in the_list: print(each)\n```\nhttps://example.org/where/the/keys/are 4711 x_y_z\n"
    assert languages.detect_language(noise * 3 + PARAGRAPHS["de"][0]) == "de"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("秋季展览定于2026年10月17日在市文化馆举行，报名截止日期为9月20日。", "zh"),
        ("年卡,每年,5600,含免费素烧\n月卡,每月,680,有效期30天,不得转借他人", "zh"),
        ("工事は9月7日に始まり、10月末に終わる。", "ja"), ("トイレ", "ja"), ("회의실 3층", "ko"), ("ชั้น 2 อาคาร", "th"),
        ("The shop Lawson (ローソン) is open at night, and the staff speak English.", "en"),
    ],
)  # fmt: skip
def test_numbers_beside_words_without_spaces_hide_no_language(text: str, expected: str) -> None:
    assert languages.detect_language(text) == expected


def test_a_long_text_is_sampled_in_several_places() -> None:
    title_page = "ISBN 4711-0815 / 2024\n" * 300
    assert languages.detect_language(title_page + " ".join(PARAGRAPHS["fr"]) * 5_000) == "fr"


def test_all_text_search_configurations_exist_in_postgresql(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT cfgname FROM pg_ts_config WHERE cfgnamespace = 'pg_catalog'::regnamespace")
        installed = {name for (name,) in cursor.fetchall()}
    algorithms = set(snowballstemmer.algorithms())
    names = installed | algorithms
    assert {languages.text_search_config(name) for name in names} == installed
    assert {languages.snowball_algorithm(name) for name in names} <= algorithms | {""}


@pytest.mark.parametrize("lang", ["de", "DE", "de-AT", "de_CH", "deu", "ger", "German", " german ", "de-Latn-DE-1996"])
def test_codes_and_names_of_a_language_are_equivalent(lang: str) -> None:
    assert (languages.text_search_config(lang), languages.snowball_algorithm(lang)) == ("german", "german")


@pytest.mark.parametrize("lang", ["", "ja", "zh-Hans", "xx", "simple", "deutsch; DROP TABLE", "-", "d"])
def test_unknown_languages_use_the_simple_configuration(lang: str) -> None:
    assert (languages.text_search_config(lang), languages.snowball_algorithm(lang)) == ("simple", "")


def test_polish_exists_only_in_snowball() -> None:
    assert (languages.text_search_config("pl"), languages.snowball_algorithm("pl")) == ("simple", "polish")


def test_names_of_languages_without_stems() -> None:
    names = {lang: languages.language_name(lang) for lang in ("zh-Hans", "ja", "ko", "th", "de", "xx", "")}
    assert names == {
        "zh-Hans": "chinese",
        "ja": "japanese",
        "ko": "korean",
        "th": "thai",
        "de": "german",
        "xx": "",
        "": "",
    }


def test_texts_without_spaces_between_words() -> None:
    for text in ("2025年展览", "Wi-Fiのパスワード", "ชั้น 2"):
        assert is_mostly_unspaced(text)
    for text in ("", "42", "How is 漢字 written?", "주차 요금", "Кто"):
        assert not is_mostly_unspaced(text)


def test_words_are_counted_in_all_scripts() -> None:
    texts = {"": 0, "Tea is hot.": 3, "Чай уже горячий": 3, "停车在地下车库B2层": 5, "ローソン": 2, "a — b": 3}
    assert {text: count_words(text) for text in texts} == texts


def test_simultaneous_first_calls_load_the_tables_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the threads of a web server would otherwise load them, all at the same time."""
    loads: list[object] = []
    first_load, may_go_on = threading.Event(), threading.Event()

    def load(weights: object, *_: object, **options: object) -> SimpleNamespace:
        loads.append(weights)
        first_load.set()
        assert may_go_on.wait(30)
        return SimpleNamespace(classify=lambda text: ("en", 1.0))

    monkeypatch.setattr("py3langid.langid.LanguageIdentifier", load)
    languages.load_identifier.cache_clear()
    try:
        with ThreadPoolExecutor(8) as pool:
            detected = [pool.submit(languages.detect_language, "A short text.") for _ in range(8)]
            assert first_load.wait(30)
            may_go_on.set()
            assert {future.result() for future in detected} == {"en"}
    finally:
        languages.load_identifier.cache_clear()
    assert len(loads) == 1


def test_the_mapped_tables_give_the_results_of_the_library() -> None:
    """Exactly the same probabilities, for the paragraphs and for pieces of them that are hard to judge."""
    library = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    mapped = languages.identifier()
    texts = [text for paragraphs in PARAGRAPHS.values() for text in paragraphs]
    pieces = [text[start : start + 12] for text in texts for start in range(0, len(text), 6)]
    assert len(pieces) > 300
    for text in ["", "\ud800", "\x00", "12 %", " ".join(texts), *texts, *pieces]:
        assert mapped.rank(text) == library.rank(text), text


def test_processes_share_the_tables() -> None:
    """The tables are mapped from files, so the system keeps one copy, and of that only the pages in use."""
    languages.detect_language("Which language is this?")
    maps = Path("/proc/self/maps").read_text()
    folder = settings.RAG_MODEL_CACHE_FOLDER / FOLDER
    assert {file.stem for file in folder.iterdir()} == set(languages._TABLES)
    for table in ("ptc", "nextmove"):
        assert f" {folder / table}.npy\n" in maps


def test_the_tables_of_an_interrupted_start_and_of_another_version_are_replaced(tmp_path: Path, settings: Any) -> None:
    settings.RAG_MODEL_CACHE_FOLDER = tmp_path / "models"
    for name in (f"{FOLDER}.partial", "py3langid.0.3.0"):
        (tmp_path / "models" / name).mkdir(parents=True)
        (tmp_path / "models" / name / "ptc.npy").write_bytes(b"half")
    languages.load_identifier.cache_clear()
    try:
        assert languages.detect_language("Wer nach zehn Uhr kommt, klingelt bitte zweimal.") == "de"
    finally:
        languages.load_identifier.cache_clear()
    assert {path.name for path in (tmp_path / "models").iterdir()} == {FOLDER, "build.lock"}


def test_languages_are_detected_if_the_tables_cannot_be_stored(tmp_path: Path, settings: Any) -> None:
    (tmp_path / "file").touch()
    settings.RAG_MODEL_CACHE_FOLDER = tmp_path / "file" / "models"
    assert languages.load_identifier.__wrapped__().classify(PARAGRAPHS["de"][0])[0] == "de"
