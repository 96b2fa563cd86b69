"""The structure that plain texts show by lines and indentation: underlined headings, and blocks of code after `::`.

Texts in reStructuredText, manual pages and many files named README or FAQ are written like this.
"""

import re
from collections.abc import Iterator, Sequence

# A line of one character, repeated: below a heading, or above and below it.
_UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}")
_MAX_TITLE_CHARACTERS = 120
# A heading of a manual page: `EXIT STATUS`, `SEE ALSO`.
_CAPITALS = re.compile(r"[A-Z][A-Z ,/&'-]{2,60}")
# A term has at most this length; less if its explanation is not indented.
_MAX_TERM_CHARACTERS, _MAX_LONE_TERM_CHARACTERS = 70, 30
_MIN_EXPLANATION_WORDS = 5
# "5.2 A mutual exchange is", wrapped and indented, is the beginning of a clause.
_CLAUSE_NUMBER = re.compile(r"\d{1,2}(?:\.\d{1,2}){1,3}\.?\s")
_NO_TERM_ENDINGS = (".", ",", ";", ":", "!", "?", "。", "：", "\\")
_OPTION_MARKS = "-/+"
_ITEM_MARKS = ("- ", "* ", "+ ", "•")
# A directive of reStructuredText that shows code, such as `.. code-block:: python`.
_CODE_DIRECTIVE = re.compile(r"\s*\.\. (?:code|code-block|sourcecode|parsed-literal)::(?:\s|$)")
# A line of Markdown that says where a link leads: `[docs]: https://docs.example "Title"`. `[^1]:` begins a footnote.
_LINK_TARGET = re.compile(r"\[(?!\^)[^\[\]]{1,200}\]:\s+\S+(?:\s+[\"'(][^\n]{0,200}[\"')])?")
# What is not shown: other directives without text of their own, their options, and the targets of links.
_MARKUP = re.compile(
    r"\.\. (?:\|[^|]{1,100}\| )?(?:image|figure|contents|toctree|include|raw|highlight|currentmodule|tabs?|tab-\w+)::.*"
    r"|\.\. \|[^|]{1,100}\| replace::.*|__ \S+|\.\. _[^:]{1,200}:.*|\.\.|::"
    r"|:(?:target|alt|width|height|scale|align|depth|local|maxdepth|name|class|start-after|end-before|nosearch|orphan):.*"
)
# A note of reStructuredText that begins on the line of its mark: `.. warning:: It is hot.`
_NOTE_MARK = re.compile(
    r"\.\. (?:attention|caution|danger|error|hint|important|note|seealso|tip|warning|admonition)::[ \t]+(?=\S)"
)

# What explains a term in Markdown's lists of definitions, `: The water boils.`, on the line below it.
_DEFINITION_MARK = re.compile(r":[ \t]{1,4}(?=\S|\Z)")

# Front matter: lines such as `title: Backups` between two lines `---` (YAML) or `+++` (TOML) at the start of a text.
_FRONT_MATTER_BORDERS = ("---", "+++")
_MAX_FRONT_MATTER_LINES = 100
_FIELD = re.compile(r"[A-Za-z][\w.-]*\s*[:=](?:\s|$)")


def front_matter_lines(lines: Sequence[str]) -> int:
    """Return how many lines at the beginning of a text are its front matter, with its borders; 0 without any."""
    border = lines[0].rstrip() if lines else ""
    if border not in _FRONT_MATTER_BORDERS or not any(_FIELD.match(line) for line in lines[1:2]):
        return 0
    for number, line in enumerate(lines[1:_MAX_FRONT_MATTER_LINES], start=2):
        if line.rstrip() == border:
            return number
        if not line.strip():  # then it is a horizontal rule
            break
    return 0


def is_underlined(lines: Sequence[str], number: int) -> bool:
    """Return whether a line is a heading: a title on a line of its own above a line of one repeated character.

    Args:
        lines: The lines of the text.
        number: The index of the line.
    """
    title, following = lines[number].rstrip(), lines[number + 1].rstrip() if number + 1 < len(lines) else ""
    above = lines[number - 1].rstrip() if number else ""
    underline = _UNDERLINE.fullmatch(following.strip())
    if not underline or not 0 < len(title) <= _MAX_TITLE_CHARACTERS or title.lstrip()[:1] in ("|", ">", "#"):
        return False
    is_overlined = above == following
    is_title = any(character.isalnum() for character in title) and not title.startswith(("- ", "* "))
    return is_title and (not above or is_overlined) and len(title.strip()) <= len(following.strip())


def find_headings(lines: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Yield the index, the title and the style of each heading of a plain text: underlined, or of a manual page.

    Indented lines, as in comments of source code, are not headings.
    """
    for number, line in enumerate(lines):
        if not line or line[0].isspace():
            continue
        if is_underlined(lines, number):
            mark = lines[number + 1][0]
            is_overlined = number > 0 and lines[number - 1].rstrip() == lines[number + 1].rstrip()
            yield number - is_overlined, line.strip(), mark * (1 + is_overlined)
        elif is_capital_heading(line.rstrip()) and _stands_above_indented(lines, number):
            yield number, line.strip(), ""


def _stands_above_indented(lines: Sequence[str], number: int) -> bool:
    is_alone = number == 0 or not lines[number - 1].strip()
    following = lines[number + 1] if number + 1 < len(lines) else ""
    return is_alone and following[:1].isspace() and bool(following.strip())


def find_terms(lines: Sequence[str]) -> frozenset[int]:
    """Return the indexes of the lines that the lines directly below explain: terms of a glossary, options of a command.

    What explains a term is indented, or a sentence below a very short line.
    """
    terms: set[int] = set()
    group: list[int] = []  # lines of the same indentation, the first after an empty line or an explanation
    is_explanation = False
    for number, line in enumerate(lines):
        if not line.strip():
            group, is_explanation = [], False
        elif group and _indentation(line) > _indentation(lines[group[0]]):
            explanation = line.lstrip()
            is_clause = explanation[0].islower() and bool(_CLAUSE_NUMBER.match(lines[group[-1]].lstrip()))
            is_term = not is_clause and not explanation.startswith(_ITEM_MARKS)
            if not is_explanation and is_term and _are_terms(lines, group):
                terms.update(group)
            is_explanation = True
        elif group and is_explanation and _indentation(line) == _indentation(lines[group[0]]):
            is_explanation, group = False, [number]
        elif not is_explanation:
            is_above = len(group) == 1
            is_defined = is_above and bool(_DEFINITION_MARK.match(line)) and _are_terms(lines, group)
            if is_defined or (is_above and _is_lone_term(lines[group[0]], line)):
                terms.add(group[0])
            group.append(number)
    return frozenset(terms)


def _are_terms(lines: Sequence[str], group: Sequence[int]) -> bool:
    """Return whether the lines of a group are terms; several terms are options with one explanation."""
    texts = [lines[number].strip() for number in group]
    is_group = (len(texts) == 1 and not _NOTE_MARK.match(texts[0])) or all(text[0] in _OPTION_MARKS for text in texts)
    if group[0] == 0 and not (_is_lone_term(lines[0], lines[1]) or is_capital_heading(texts[0])):
        return False  # the indentation of a passage's first line is unknown
    return is_group and all(len(text) <= _MAX_TERM_CHARACTERS and not text.endswith(_NO_TERM_ENDINGS) for text in texts)


def _is_lone_term(line: str, following: str) -> bool:
    text, words = line.strip(), following.split()
    is_short = len(text) <= _MAX_LONE_TERM_CHARACTERS and text[0].isalnum() and not text.endswith(_NO_TERM_ENDINGS)
    return is_short and len(words) >= _MIN_EXPLANATION_WORDS and words[0][0].isupper()


def is_capital_heading(line: str) -> bool:
    """Return whether a line is written as the headings of manual pages are: `EXIT STATUS`."""
    return bool(_CAPITALS.fullmatch(line))


def find_literal_lines(lines: Sequence[str]) -> frozenset[int]:
    """Return the indexes of the lines of code: those that are indented below a line that ends with `::`."""
    literal: set[int] = set()
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        is_directive = bool(_CODE_DIRECTIVE.match(line))
        if not is_directive and (not line.rstrip().endswith("::") or line.lstrip().startswith(".. ")):
            continue
        indentation = _indentation(line)
        block = number
        while number < len(lines) and (not lines[number].strip() or _indentation(lines[number]) > indentation):
            number += 1
        literal.update(
            index
            for index in range(block, number)
            if lines[index].strip() and not (is_directive and re.match(r"\s*:[a-z-]+:", lines[index]))
        )
    return frozenset(literal)


def find_comments(lines: Sequence[str]) -> frozenset[int]:
    """Return the indexes of the lines of reStructuredText's comments: `..` alone, and what is indented below it."""
    comments: set[int] = set()
    indentation: int | None = None  # of the comment's mark
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        if indentation is not None and _indentation(line) <= indentation:
            indentation = None
        if indentation is None and line.strip() == "..":
            indentation = _indentation(line)
        if indentation is not None:
            comments.add(number)
    return frozenset(comments)


def mark_length(line: str) -> int:
    """Return the length of the mark that a note of reStructuredText or a definition begins with; 0 without text."""
    match = _NOTE_MARK.match(line) or _DEFINITION_MARK.match(line)
    return match.end() if match else 0


def is_definition_mark(text: str) -> bool:
    """Return whether a text, what is before another one on its line, is the mark of a definition."""
    return bool(_DEFINITION_MARK.fullmatch(text.lstrip()))


def is_markup(line: str) -> bool:
    """Return whether a line, without white space around it, is not shown: a directive, or the target of a link."""
    if line[:1] == "[":
        return bool(_LINK_TARGET.fullmatch(line))
    return line[:1] in (".", ":", "_") and bool(_MARKUP.fullmatch(line))


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())
