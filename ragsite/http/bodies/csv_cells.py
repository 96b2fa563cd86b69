"""Cells of CSV files that people open in a spreadsheet."""

# A spreadsheet would run a cell that starts with one of these as a formula, some also with the full-width ones (OWASP,
# CSV injection).
_FORMULA_STARTS = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "\n")


def protect_cell(text: str) -> str:
    """Return the text as a cell that no spreadsheet runs: an apostrophe before a formula makes it text."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
