"""`contains_text` finds the rows that Django's `icontains` finds (rag.models.content.text_lookup)."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User

NAMES = (
    "100% of it", "100 of it", "snake_case", "snakeXcase", r"C:\Files\new", "C:/Files/new", "it's 'quoted'",
    "Straße", "STRASSE",
    "Größe 5 µm", "GRÖSSE 5 μm", "Ärger über Öl", "äRGER ÜBER öL", "Crème brûlée", "CRÈME", "Creme",
    "Οδός", "ΟΔΌΣ", "οδόσ", "Kırmızı", "Привет", "ПРИВЕТ", "日本語", "",
)  # fmt: skip
TERMS = (
    "%", "0%", "_", "e_c", "\\", r"s\n", "s/N", "'", "ß", "ss", "STRA", "straße", "STRAßE", "größe", "GRÖßE", "öl",
    "ÜBER", "äRg", "é", "È", "crème", "CREME", "µ", "μ", "οδός", "ΟΔΌΣ", "σ", "ς", "ı", "привет", "語", "x" * 50,
)  # fmt: skip


@pytest.fixture
def named() -> None:
    User.objects.bulk_create(User(email=f"{number}@names.example", name=name) for number, name in enumerate(NAMES))


@pytest.mark.django_db
@pytest.mark.parametrize("term", TERMS)
def test_a_term_finds_what_django_finds(named: None, term: str) -> None:
    people = User.objects.filter(email__endswith="@names.example")
    expected = set(people.filter(name__icontains=term).values_list("name", flat=True))
    assert set(people.filter(name__contains_text=term).values_list("name", flat=True)) == expected


@pytest.mark.django_db
def test_wildcards_are_ordinary_characters_and_latin_columns_are_not_converted(named: None) -> None:
    people = User.objects.filter(email__endswith="@names.example")
    with CaptureQueriesContext(connection) as queries:
        for term, name in (("0%", "100% of it"), ("E_C", "snake_case"), ("s\\N", r"C:\Files\new")):
            assert [person.name for person in people.filter(name__contains_text=term)] == [name]
    assert "ILIKE" in queries[0]["sql"]
    assert "UPPER" not in "".join(query["sql"] for query in queries)
