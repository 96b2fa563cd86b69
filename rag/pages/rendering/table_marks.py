"""How Markdown writes tables: a row, the line below the header, and what separates the cells of a row."""

import re

TABLE_ROW = re.compile(r"\s*\|.*\|\s*$")
TABLE_RULE = re.compile(r"\s*\|(?:\s*:?-+:?\s*\|)+\s*$")
CELL_BORDER = re.compile(r"(?<!\\)\|")
