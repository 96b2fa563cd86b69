"""Quotes of rows other than the one that a question names: the fee of a dog, for "What does it cost for a cat?"."""

from collections.abc import Mapping

from rag.pipeline.answering.extractive.parts.needed_parts import PassageStructure
from rag.pipeline.answering.extractive.parts.tables import cells_by_column, split_cells
from rag.pipeline.answering.extractive.quotes import Quote
from rag.text.sentences.quotable_units import UnitKind
from rag.text.words import is_function_word, split_words, stem

# What is asked of a row, which remarks about other rows may begin with, too: "price per metre".
_PROPERTIES = {
    "charge", "cost", "fee", "name", "number", "price", "rate", "betrag", "gebühr", "kosten", "nummer", "preis", "coût",
    "frais", "nom", "numéro", "prix", "tarif", "costo", "coste", "importe", "nombre", "número", "precio", "tarifa",
    "numero", "prezzo", "tariffa", "importo", "nome", "custo", "preço", "taxa", "bedrag", "naam", "prijs",
    "tarief",
}  # fmt: skip
_MAX_QUESTION, _MAX_ROWS, _MAX_NAME_WORDS = 500, 300, 6


def is_of_other_row(query: str, first: Quote) -> bool:
    """Return whether a question names a cell of other rows of the quoted table, and the quoted rows have another there.

    A cell is named if the question has all its words, or the first one: "Box (4 seats)". It is not enough that the
    quoted row has other words of the question: no row is about both.

    Args:
        query: The question.
        first: The first quote.
    """
    passage = first.citations[0].passage
    structure = PassageStructure(passage)
    spans = [(citation.start - passage.start, citation.end - passage.start) for citation in first.citations]
    rows = [index for index, part in enumerate(structure.parts) if part.kind is UnitKind.ROW]
    quoted = [row for row in rows if any(start <= structure.parts[row].start < end for start, end in spans)]
    if not quoted or structure.parts[quoted[0]].block != structure.parts[quoted[-1]].block:
        return False
    block, columns = structure.parts[quoted[0]].block, structure.header_cells(quoted[0])
    table = {
        row: {column: _stems(cell, passage.lang) for column, cell in cells_by_column(structure.text(row)).items()}
        for row in rows[:_MAX_ROWS]
        if structure.parts[row].block == block and split_cells(structure.text(row)) != columns
    }
    above = {*_stems("\n".join([passage.title, *passage.headings, first.heading, *columns]), passage.lang)}
    words = {*_stems(query[:_MAX_QUESTION], passage.lang)} - above
    return all(row in table and _is_other(table[row], table, words) for row in quoted)


def _stems(text: str, lang: str) -> tuple[str, ...]:
    words = split_words(text, lang)
    return tuple(stem(word, lang) for word in words if not is_function_word(word, lang) and word not in _PROPERTIES)


def _is_other(
    row: Mapping[str, tuple[str, ...]], table: Mapping[int, Mapping[str, tuple[str, ...]]], words: set[str]
) -> bool:
    """Return whether another row has a cell that the question names, and the row has another one in its place."""
    whole = {word for cell in row.values() for word in cell}
    unnamed = {column for column, cell in row.items() if cell and not _named(cell, words)}
    return any(
        name and not whole.issuperset(name)
        for other in table.values()
        for column in unnamed & other.keys()
        for name in [_named(other[column], words)]
    )


def _named(cell: tuple[str, ...], words: set[str]) -> tuple[str, ...]:
    """Return the words of a cell if the question has all of them, or its first one; nothing if they are numbers."""
    if not 0 < len(cell) <= _MAX_NAME_WORDS or all(word[0].isdigit() for word in cell):
        return ()
    if words.issuperset(cell):
        return cell
    return cell[:1] if cell[0] in words and not cell[0][0].isdigit() else ()
