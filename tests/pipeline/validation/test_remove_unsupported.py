"""The end of an answer is removed as far as nothing supports it."""

import pytest

from rag.pipeline.validation.remove_unsupported import remove_unsupported_end
from rag.pipeline.validation.validate import validate_answer

CONTEXT = "The house is old. Bicycles are parked in the yard. The porter has 3 keys."


@pytest.mark.parametrize(
    ("answer", "shortened"),
    [
        (
            "Bicycles are parked in the yard [1]. The emperor ordered 4711 carriages.",
            "Bicycles are parked in the yard [1].",
        ),
        (
            "Bicycles are parked in the yard [1]. Emperors drink 5 cups. Kings drink 9.",
            "Bicycles are parked in the yard [1].",
        ),
        ("The emperor ordered 4711 carriages. Bicycles are parked in the yard [1].", ""),
        ("Bicycles are parked in the yard [1]. The porter has 3 keys.", ""),
    ],
)
def test_uncited_sentences_at_the_end_that_nothing_supports_are_removed(answer: str, shortened: str) -> None:
    text, removed = remove_unsupported_end(answer, validate_answer(answer, CONTEXT).sentences)
    assert text == (shortened or answer)
    assert " ".join((shortened, *removed)).strip() == (answer if shortened else "")
