"""Tables of PDF files: their cells, and where they are in the text of a page."""
