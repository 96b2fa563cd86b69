"""Quotes about other things than those that the question names: other years, codes, rows and names."""
