"""Step: question and passages -> a prompt within its token budget (pipeline contract, sub-contract 3)."""

import string
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from rag.errors import ContextOverflow, TemplateInvalid
from rag.text import citation_markers
from rag.text.token_counts import count_tokens
from rag.types import Context, Passage

from .merge_passages import merge_passages
from .sanitize_for_prompt import sanitize

DEFAULT_TEMPLATE = """\
Passages from the sources, numbered:

{{ context }}

Question: {{ query }}

Answer the question from these passages alone, and cite each statement's passage by its number, as [1]. If they do not \
hold the answer, say so."""

DEFAULT_PROMPT_TOKENS = 3000
# The largest prompt that a client may request, in tokens.
MAX_PROMPT_TOKENS = 32_000
_VARIABLES = ("context", "query")
# A template that repeats a variable many times would take long to fill before its prompt is found to be too long.
_MAX_USES = 5
# English texts have about four. Passages with fewer probably all fit, so only the whole prompt is counted.
_MAX_CHARACTERS_PER_TOKEN = 4


class _Template(string.Template):
    """A template with `{{ context }}` and `{{ query }}` only. There are no expressions that a client could run."""

    # A text, of which the library makes a pattern.
    pattern: ClassVar[Any] = (
        r"\{\{(?:(?P<escaped>(?!))|\s*(?P<named>[A-Za-z_]\w*)\s*\}\}|(?P<braced>(?!))|(?P<invalid>))"
    )


class SanitizedPassages:
    """The titles and texts of passages as they are in prompts. Each is sanitized once for all prompts of a question."""

    def __init__(self) -> None:
        self._sanitized: dict[tuple[str, str], str] = {}

    def block(self, number: int, passage: Passage) -> str:
        """Return a passage as it stands in a prompt, below its number and title."""
        headings = [heading for heading in passage.headings if heading != passage.title]
        title = self._sanitize(" › ".join(" ".join(heading.split()) for heading in (passage.title, *headings)))
        first, last = passage.first_page, passage.last_page
        pages = "" if not first else f", page {first}" if first == last else f", pages {first}–{last}"
        text = citation_markers.neutralize_at_line_starts(self._sanitize(passage.text, passage.content_type))
        return f"{citation_markers.format_marker(number)} {title}{pages}\n{text}"

    def _sanitize(self, text: str, content_type: str = "") -> str:
        key = text, content_type
        if key not in self._sanitized:
            self._sanitized[key] = sanitize(text, content_type)
        return self._sanitized[key]


def build_prompt(
    query: str,
    passages: Sequence[Passage],
    *,
    max_tokens: int,
    template: str = "",
    model: str = "",
    sanitized: SanitizedPassages | None = None,
) -> Context:
    """Fill the template with as many passages as fit.

    Adjacent passages are merged, repeated ones are left out, and each is numbered.

    Args:
        query: The question.
        passages: The passages, best first.
        max_tokens: Limit of the whole prompt, in tokens of `model`.
        template: The prompt template; empty for DEFAULT_TEMPLATE.
        model: The language model whose tokenizer counts (rag.text.token_counts).
        sanitized: The passages of other prompts of the same question.

    Raises:
        ContextOverflow: If not even the best passage fits.
        TemplateInvalid: If the template is malformed.
    """
    template = template or DEFAULT_TEMPLATE
    validate_template(template)
    block = (sanitized or SanitizedPassages()).block

    def build(count: int) -> Context:
        numbered = merge_passages(passages[:count])
        text = "\n\n".join(block(number, passage) for number, passage in enumerate(numbered, start=1))
        prompt = _fill(template, text, query)
        return Context(prompt, tuple(passages[:count]), count_tokens(prompt, model), tuple(numbered))

    if sum(len(passage.text) for passage in passages) <= _MAX_CHARACTERS_PER_TOKEN * max_tokens:
        context = build(len(passages))
        if context.token_count <= max_tokens:
            return context
    # The estimate ignores merging and tokens that span two passages, so the built prompt is counted as well.
    blocks = (block(number, passage) for number, passage in enumerate(passages, start=1))
    count = max(min(1, len(passages)), _estimate_count(query, blocks, max_tokens, template, model))
    context = build(count)
    while context.token_count > max_tokens and count > 1:
        count -= 1
        context = build(count)
    if context.token_count > max_tokens:
        raise ContextOverflow(
            f"The question, the template and the best passage have {context.token_count:,} tokens, but maxTokens is "
            f"{max_tokens:,}. Increase maxTokens or shorten the template.",
            needed=context.token_count,
        )
    while count < len(passages) and (larger := build(count + 1)).token_count <= max_tokens:
        count, context = count + 1, larger
    return context


def _estimate_count(query: str, blocks: Iterable[str], max_tokens: int, template: str, model: str) -> int:
    """Return how many passages fit if no passages are merged."""
    uses = _count_uses(template)["context"]
    remaining_tokens = max_tokens - count_tokens(_fill(template, "", query), model)
    count = 0
    for block in blocks:
        remaining_tokens -= uses * count_tokens(block + "\n\n", model)
        if remaining_tokens < 0:
            break
        count += 1
    return count


def validate_template(template: str) -> None:
    """Check that a template contains both variables, at most five times each, and nothing else in {{ }}.

    Raises:
        TemplateInvalid: If the template is malformed.
    """
    parsed = _Template(template)
    names = set(parsed.get_identifiers())
    if not parsed.is_valid():
        raise TemplateInvalid("The template has {{ without a variable's name and }} after it.")
    if unknown := sorted(names - set(_VARIABLES)):
        raise TemplateInvalid(
            f"The template has an unknown variable: {unknown[0][:50]}. The variables are context and query."
        )
    if missing := [name for name in _VARIABLES if name not in names]:
        raise TemplateInvalid(f"The template lacks {{{{ {missing[0]} }}}}.")
    if repeated := [name for name, uses in _count_uses(template).items() if uses > _MAX_USES]:
        raise TemplateInvalid(f"The template has {{{{ {repeated[0]} }}}} more than {_MAX_USES} times.")


def _count_uses(template: str) -> Counter[str]:
    return Counter(match["named"] for match in _Template.pattern.finditer(template) if match["named"])


def _fill(template: str, context: str, query: str) -> str:
    return _Template(template).substitute(context=context, query=query)
