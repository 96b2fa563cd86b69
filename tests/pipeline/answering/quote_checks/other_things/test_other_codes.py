"""Which texts are about another code of a series than the one that is asked for."""

import pytest

from rag.pipeline.answering.quote_checks.other_things.other_codes import names_other_code
from tests.support.checks.growth import takes_linear_time

RESET = "How do I reset the AV-16?"


@pytest.mark.parametrize(
    ("question", "text", "label"),
    [
        (RESET, "The AV-16 and the AV-12 are reset with the red key.", ""),
        (RESET, "AV-6 to AV-20: press the red key.", ""),
        (RESET, "All models (AV-6, AV-9) are reset with the red key.", ""),
        (RESET, "The device is reset with the red key.", ""),
        (RESET, "Press both keys.", "Models AV-9 and up"),
        ("My AV-16 shows a red lamp. Where is the service?", "Behind the shop.", "Warranty of the AV-9"),
        ("What does E31 mean on the C1?", "E31 means that the sensor is dirty.", "Controller C1"),
        ("What does E12 mean?", "E13: the pump is blocked. E 12: the door is open.", ""),
        ("What does E12 mean?", "E13: pump blocked\ne12: door open", ""),
        ("What does E12 mean?", "- E13 — pump blocked\n- E012 — door open", ""),
        ("What does E12 mean?", "Switch the device off. If E13 follows, call the service.", ""),
        ("Where do I send form F2?", "Send it together with form F1 to the office.", ""),
        ("Where do I find form F2?", "Forms are in the office. Form F1 is online.", ""),
        ("How much is the fine on the M25?", "As on the M4, the fine is 60 pounds.", ""),
        ("What must a P1 ticket contain?", "Tickets of P2 and above must contain a log.", ""),
        ("What is the successor of the X100?", "X200 is the successor.", ""),
        ("Which charger fits the X100?", "The X200 has one that fits.", ""),
        ("What comes after B1?", "B2 follows.", ""),
        ("How do I get from the A8 to the hotel?", "The A81 leads there.", ""),
        ("What do I need to enter the B2 course?", "A certificate of level B1.", ""),
        ("Wie komme ich von der A8 zum Hotel?", "Die A81 führt dorthin.", ""),
        ("Comment détartrer la X100 ?", "Comme la X90 : appuyez sur les deux touches.", ""),
    ],
)
def test_texts_that_may_be_about_the_code(question: str, text: str, label: str) -> None:
    assert not names_other_code(question, text, [label])


@pytest.mark.parametrize(
    ("question", "text", "label"),
    [
        (RESET, "The AV-12 is reset with the red key.", ""),
        (RESET, "Press both keys.", "AV-9"),
        ("What does E31 mean on the C1?", "E31 means that the sensor is dirty.", "Controller C2"),
        ("What does E12 mean?", "E13: the pump is blocked", ""),
        ("What is the response time for P1?", "- P2 — 4 hours\n- P3 — 8 hours", ""),
        ("How much is the fine on the M25?", "On the M4 the fine is 60 pounds.", ""),
        ("What is the salary in grade E5?", "Grade E4 receives 3,000 euros.", ""),
        ("Wie viel verdient man in E9?", "E8: 3.200 Euro", ""),
    ],
)
def test_texts_about_another_code(question: str, text: str, label: str) -> None:
    assert names_other_code(question, text, [label])


@pytest.mark.parametrize("part", ["A1 ", "A-", "A1 to ", "A", "1", "from ", "E 0", "see "])
def test_codes_are_found_in_linear_time(part: str) -> None:
    def find(text: str) -> None:
        names_other_code("What is A3?", text, [])
        names_other_code(text, "A3 is it.", [])

    assert takes_linear_time(find, lambda length, _: (part * length)[:length], 2_000)
