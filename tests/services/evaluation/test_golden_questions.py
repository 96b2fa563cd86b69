"""Golden questions: import, export and who may see their passages."""

import pytest
from django.db import IntegrityError, transaction

from orgs.access.caller import Caller
from orgs.access.permissions import Visibility
from rag.errors import InvalidRequest
from rag.models import DataSource, GoldenQuestion
from rag.services.evaluation import golden_questions
from tests.services.evaluation.helpers import add_question
from tests.support.factories import World


def test_a_question_needs_an_expected_document_or_passage(source: DataSource) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        add_question(source, "zebra")


def csv(*lines: str) -> bytes:
    return "\r\n".join(lines).encode()


def test_an_export_can_be_imported(world: World, source: DataSource) -> None:
    member = world.users["member"]
    content = csv("question,path,passage", '"Where, then?",zebra.txt,', 'otter?,,"Where the\notter lives"')
    assert golden_questions.import_csv(source, content, by=Caller(member)) == 2
    assert golden_questions.import_csv(source, content, by=Caller(member)) == 0, (
        "existing questions are not added twice"
    )
    other = world.source("other")
    assert (
        golden_questions.import_csv(
            other, golden_questions.export_csv(source, Caller(member)).encode("utf-8-sig"), by=Caller(member)
        )
        == 2
    )
    exported, imported = (
        list(data_source.golden_questions.values_list("question", "path", "passage")) for data_source in (source, other)
    )
    assert exported == imported
    assert golden_questions.import_csv(other, csv("Question;Path", "lion;lion.txt"), by=Caller(member)) == 1


@pytest.mark.parametrize(
    "question", ['=HYPERLINK("https://evil.example")', "+1", "-1", "@SUM(A1)", "＝1+1", "'=1", "'tis", "a=1"]
)
def test_an_export_has_no_formulas_and_is_imported_as_it_was(world: World, source: DataSource, question: str) -> None:
    """Spreadsheets run cells that begin so, and questions come from people who need no right to the source."""
    caller = Caller(world.users["member"])
    golden_questions.add(source, [(question, "zebra.txt", "")], by=caller)
    exported = golden_questions.export_csv(source, caller)
    assert not exported.splitlines()[1].startswith(("=", '"=', "+", "-", "@", "＝"))
    other = world.source("other")
    golden_questions.import_csv(other, exported.encode(), by=caller)
    assert other.golden_questions.get().question == question


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "Line 1: the columns"),
        (csv("q,path", "a,b"), "Line 1: the columns"),
        (csv("question,path", "a,b", "", "c,", ",d"), "Line 4: path or passage is missing"),
        (csv("question,path", "a,b", "c,d,e"), "Line 3: 3 values under 2 columns"),
        (csv("question,path", '"a\nb",', "c,"), "Line 4: path or passage"),
        (csv("question,path", "a" * 2001 + ",b"), "Line 2: question and passage may have at most 2,000"),
        (csv("question,path", "a," + "é" * 1001), "Line 2: path may have at most 2,000 bytes"),
        (csv("question,path", "a\x00,b"), "Line 2: NUL"),
        (b"question,path\nok,b\n\xff,b", "Line 3: it is not UTF-8"),
        (csv("question,path", "a," + "b" * 140_000), "Line 2: it is not CSV"),
        (csv("question,path", *[f"q{number},p" for number in range(502)]), "at most 500"),
        (csv("question,path", *["q"] * 502), "at most 500"),
        (b"x" * (golden_questions.MAX_BYTES + 1), "bytes; at most"),
    ],
)
def test_an_invalid_file_is_rejected_completely_with_line_numbers(
    world: World, source: DataSource, content: bytes, message: str
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        golden_questions.import_csv(source, content, by=Caller(world.users["member"]))
    assert message in f"{caught.value.message} {caught.value.data['errors']}"
    assert not GoldenQuestion.objects.exists()


def test_passages_need_the_query_permission(world: World, source: DataSource) -> None:
    """Whether a passage is found shows whether a document contains it, and MANAGE does not allow reading documents."""
    reader, manager = world.users["member"], world.users["owner"]
    golden_questions.import_csv(
        source, csv("question,path,passage", "a,zebra.txt,", "b,,secret words"), by=Caller(reader)
    )
    DataSource.objects.update(visibility=Visibility.PERSONAL, owner=reader)
    with pytest.raises(InvalidRequest) as caught:
        golden_questions.import_csv(source, csv("question,passage", "c,guess"), by=Caller(manager))
    assert "Line 2" in str(caught.value.data["errors"])
    assert "secret words" in golden_questions.export_csv(source, Caller(reader))
    assert golden_questions.export_csv(source, Caller(manager)).split() == ["question,path,passage", "a,zebra.txt,"]
