"""Jupyter notebooks."""

import json

from rag.types import Heading
from tests.parsing.conftest import Read


def test_notebooks_are_markdown_and_code(read: Read) -> None:
    cells = (
        '{"cells":[{"cell_type":"markdown","source":["# Bees\\n","They hum."]},{"cell_type":"code","source":"1+1"}]}'
    )
    parsed = read(cells.encode(), "a.ipynb")
    assert parsed.text == "# Bees\nThey hum.\n\n```python\n1+1\n```"
    assert (parsed.headings, parsed.title) == ((Heading(0, 1, "Bees"),), "Bees")


def test_headings_of_version_3_are_headings(read: Read) -> None:
    cells = [{"cell_type": "heading", "level": 2, "source": ["Soil"]}, {"cell_type": "code", "input": "x = 1"}]
    notebook = {"nbformat": 3, "worksheets": [{"cells": cells}]}
    parsed = read(json.dumps(notebook).encode(), "a.ipynb")
    assert parsed.text == "## Soil\n\n```python\nx = 1\n```"
