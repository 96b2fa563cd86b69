"""The letters of a PDF page as words: their order and their accents."""
