"""Numbers with units, and the words of numbers, units and dates."""
