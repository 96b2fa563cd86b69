"""Numbers, amounts, years and stated values, and the words of numbers, units and dates."""
