"""Questions that only name a section by its number."""

import pytest

from rag.pipeline.grounding.assess_grounding import assess_grounding
from rag.types import Context, Passage
from tests.support.passages import passage

FEES = passage(
    "## § 3 Fees\n\nMembers pay 40 euros a year.", title="Rules of the club", headings=("Rules of the club",)
)
DOGS = passage("Dogs stay on the lead.", title="Rules of the club", headings=("Rules of the club", "§ 4 Dogs"))


@pytest.mark.parametrize(
    ("question", "answering"),
    [
        ("What does § 3 say?", FEES),
        ("What does section 4 of the rules regulate?", DOGS),
        ("Was steht denn in § 3?", FEES),
        ("What does § 3 say about dogs?", None),
        ("What does § 7 say?", None),
        ("What happens on 3 May?", None),
    ],
)
def test_the_section_that_is_named_can_be_quoted(question: str, answering: Passage | None) -> None:
    lang = "de" if question.startswith("Was") else "en"
    weak = [page.copy_with(score=0.05, coverage=0.1, relative_similarity=-0.5, lang=lang) for page in (FEES, DOGS)]
    grounding = assess_grounding(question, Context("", tuple(weak), 0))
    assert grounding.is_groundable == (answering is not None)
    if answering is not None:
        assert [page.text for page in grounding.relevant] == [answering.text]
        assert not grounding.gaps
