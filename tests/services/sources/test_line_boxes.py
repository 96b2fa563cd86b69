"""Where recognised lines are is stored in little space, and belongs to one version of a document."""

import pytest

from rag.models import Document
from rag.models.content.line_boxes import pack_line_boxes, unpack_line_boxes
from rag.types import LineBox
from tests.parsing.files import pictures
from tests.services.jobs.uploading import send, upload
from tests.support.factories import World


def test_boxes_are_stored_in_little_space() -> None:
    boxes = [LineBox(50 * number, 50 * number + 40, number // 50 + 1, 0.1, 0.02, 0.9, 1) for number in range(5_000)]
    packed = pack_line_boxes(boxes, "a")
    assert len(packed) < 20 * len(boxes)
    read = unpack_line_boxes(memoryview(packed), "a")
    assert unpack_line_boxes(packed, "b") == [], "an older version has replaced the text"
    assert [(box.start, box.end, box.page) for box in read] == [(box.start, box.end, box.page) for box in boxes]
    assert (read[0].left, read[0].top, read[0].right, read[0].bottom) == pytest.approx((0.1, 0.02, 0.9, 1), abs=1e-4)
    assert (pack_line_boxes([], "a"), unpack_line_boxes(b"", "a")) == (b"", [])


@pytest.mark.parametrize(
    "box",
    [
        LineBox(-1, 2, 1, 0, 0, 1, 1), LineBox(2, 2, 1, 0, 0, 1, 1), LineBox(0, 2**32, 1, 0, 0, 1, 1),
        LineBox(0, 1, 0, 0, 0, 1, 1), LineBox(0, 1, 1, -0.1, 0, 1, 1), LineBox(0, 1, 1, 0, 0, 1, float("nan")),
    ],
)  # fmt: skip
def test_boxes_that_are_on_no_page_are_left_out(box: LineBox) -> None:
    assert pack_line_boxes([box], "a") == b""


def test_a_new_version_has_boxes_of_its_own(world: World) -> None:
    source = world.source()
    send(world, source, upload("a", pictures.encoded(pictures.page(["Bees hum."]), kind="PNG")))
    document = Document.objects.get()
    (box,) = unpack_line_boxes(document.line_boxes, document.content_hash)
    assert (document.text[box.start : box.end], document.recognized_pages) == ("Bees hum.", 1)
    send(world, source, upload("a", b"Zebras have stripes."))
    document = Document.objects.get()
    assert (bytes(document.line_boxes), document.recognized_pages, document.recognition_seconds) == (b"", 0, 0)
