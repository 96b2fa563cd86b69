"""Step: question and passages → a prompt within its token budget (the pipeline contract, sub-contract 3)."""

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

from rag.errors import ContextOverflow, TemplateInvalid
from rag.text.tokens import count_tokens
from rag.types import Context, Passage

from .blocks import merge_passages
from .sanitize import sanitize

DEFAULT_TEMPLATE = """\
Passages from the sources, numbered:

{{ context }}

Question: {{ query }}

Answer the question from these passages alone, and cite each statement's passage by its number, as [1]. If they do not \
hold the answer, say so."""

_VARIABLES = ("context", "query")
# A prompt that says everything a thousand times would be made before it is found to be too long.
_MOST_USES = 5
# At the beginning of a line, whatever ends lines, behind what takes no room or shows nothing.
_HEAD = re.compile(
    r"((?:^|[\r\n\v\f\x1c-\x1e\x85\u2028\u2029])[ \t\xa0\u1680\u2000-\u200f\u202f\u205f\u2060\u3000\ufeff]*+)"
    r"\[(\d+|Source:[^\]\n]*+)\]"
)


class _Template(string.Template):
    """`{{ context }}` and `{{ query }}`, and nothing else: no expressions, nothing that a client could run."""

    pattern: ClassVar[Any] = (
        r"\{\{(?:(?P<escaped>(?!))|\s*(?P<named>[A-Za-z_]\w*)\s*\}\}|(?P<braced>(?!))|(?P<invalid>))"
    )


def build_prompt(
    query: str, passages: Sequence[Passage], *, max_tokens: int, template: str = "", model: str = ""
) -> Context:
    """The prompt with as many of the passages, best first, as fit; neighbours joined, repetitions once, each numbered.

    max_tokens: that the prompt never exceeds, as `model` counts them (rag.text.tokens). template: DEFAULT_TEMPLATE
    unless
    given. Raises ContextOverflow if not even the best passage fits, TemplateInvalid.
    """
    template = template or DEFAULT_TEMPLATE
    validate_template(template)

    def attempt(included: int) -> Context:
        numbered = merge_passages(passages[:included])
        shown = "\n\n".join(_block(number, block) for number, block in enumerate(numbered, start=1))
        prompt = _filled(template, shown, query)
        return Context(prompt, tuple(passages[:included]), count_tokens(prompt, model), tuple(numbered))

    # Parts count differently than the whole, and joined ones less: they tell where to begin, the whole decides.
    included = max(min(1, len(passages)), _about(query, passages, max_tokens, template, model))
    context = attempt(included)
    while context.token_count > max_tokens and included > 1:
        included -= 1
        context = attempt(included)
    if context.token_count > max_tokens:
        raise ContextOverflow(
            f"The question, the template and the best passage have {context.token_count:,} tokens; maxTokens allows "
            f"{max_tokens:,}. Allow more, or shorten the template.",
            needed=context.token_count,
        )
    while included < len(passages) and (larger := attempt(included + 1)).token_count <= max_tokens:
        included, context = included + 1, larger
    return context


def _about(query: str, passages: Sequence[Passage], max_tokens: int, template: str, model: str) -> int:
    """How many of the passages fit if each stands alone."""
    uses = _uses(template)["context"]
    room = max_tokens - count_tokens(_filled(template, "", query), model)
    for index, passage in enumerate(passages):
        room -= uses * count_tokens(_block(index + 1, passage) + "\n\n", model)
        if room < 0:
            return index
    return len(passages)


def validate_template(template: str) -> None:
    """Raise TemplateInvalid unless the template is well formed, has both variables, each a few times, and no other."""
    parsed = _Template(template)
    names = set(parsed.get_identifiers())
    if not parsed.is_valid():
        raise TemplateInvalid("The template has {{ without a variable's name and }} after it.")
    if unknown := sorted(names - set(_VARIABLES)):
        raise TemplateInvalid(f"The template has an unknown variable: {unknown[0][:50]}. There are context and query.")
    if missing := [name for name in _VARIABLES if name not in names]:
        raise TemplateInvalid(f"The template lacks {{{{ {missing[0]} }}}}.")
    if repeated := [name for name, uses in _uses(template).items() if uses > _MOST_USES]:
        raise TemplateInvalid(f"The template has {{{{ {repeated[0]} }}}} more than {_MOST_USES} times.")


def _uses(template: str) -> Counter[str]:
    """How often each variable stands in it."""
    return Counter(match["named"] for match in _Template.pattern.finditer(template) if match["named"])


def _filled(template: str, context: str, query: str) -> str:
    return _Template(template).substitute(context=context, query=query)


def _block(number: int, passage: Passage) -> str:
    headings = [heading for heading in passage.headings if heading != passage.title]
    above = sanitize(" › ".join(_one_line(each) for each in (passage.title, *headings)))
    first, last = passage.first_page, passage.last_page
    page = "" if not first else f", page {first}" if first == last else f", pages {first}–{last}"
    return f"[{number}] {above}{page}\n{escape_markers(sanitize(passage.text, passage.content_type))}"


def escape_markers(text: str) -> str:
    """A passage's text in a prompt: a line of it that looks like the head of another passage is bracketed otherwise."""
    return _HEAD.sub(r"\1(\2)", text)


def _one_line(text: str) -> str:
    return " ".join(text.split())
