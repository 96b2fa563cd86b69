"""Jupyter notebooks."""

from rag.types import Heading
from tests.parsing.conftest import Read


def test_notebooks_are_markdown_and_code(read: Read) -> None:
    cells = (
        '{"cells":[{"cell_type":"markdown","source":["# Bees\\n","They hum."]},{"cell_type":"code","source":"1+1"}]}'
    )
    parsed = read(cells.encode(), "a.ipynb")
    assert parsed.text == "# Bees\nThey hum.\n\n```python\n1+1\n```"
    assert parsed.headings == (Heading(0, 1, "Bees"),)
