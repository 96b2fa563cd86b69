"""Text utilities: words, sentences, units, languages, names and tokens."""
