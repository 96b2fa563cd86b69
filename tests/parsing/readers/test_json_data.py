"""JSON and JSON Lines."""

from tests.parsing.conftest import Read


def test_minified_json_is_formatted(read: Read) -> None:
    assert read(b'{"town":"K\\u00f6ln","people":[1,2]}', "a.json").text.splitlines()[1] == ' "town": "Köln",'
    assert read(b'{\n  "a": 1\n}\n', "a.json").text == '{\n  "a": 1\n}\n'


def test_json_lines_are_read_with_their_characters(read: Read) -> None:
    lines = '{"id":1,"text":"Bees"}\n{"id":2,"text":"K\\u00e4fer"}\nno \\u00e4 JSON'
    parsed = read(lines.encode(), "a.jsonl")
    assert parsed.text == '{"id":1,"text":"Bees"}\n{"id": 2, "text": "Käfer"}\nno \\u00e4 JSON'
