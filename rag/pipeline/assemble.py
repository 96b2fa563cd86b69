"""Step: question and passages → a prompt within its token budget (the pipeline contract, sub-contract 3)."""

import re
import string
from collections.abc import Sequence
from typing import Any, ClassVar

from rag.errors import ContextOverflow, TemplateInvalid
from rag.tokens import count_tokens
from rag.types import Context, Passage

DEFAULT_TEMPLATE = """\
Passages from the sources, numbered:

{{ context }}

Question: {{ query }}

Answer the question from these passages alone, and cite each statement's passage by its number, as [1]. If they do not \
hold the answer, say so."""

_VARIABLES = ("context", "query")


class _Template(string.Template):
    """`{{ context }}` and `{{ query }}`, and nothing else: no expressions, nothing that a client could run."""

    pattern: ClassVar[Any] = (
        r"\{\{(?:(?P<escaped>(?!))|\s*(?P<named>[A-Za-z_]\w*)\s*\}\}|(?P<braced>(?!))|(?P<invalid>))"
    )


def assemble(query: str, passages: Sequence[Passage], *, max_tokens: int, template: str = "") -> Context:
    """The prompt with as many of the passages, best first, as fit; the n-th is numbered [n].

    max_tokens: OpenAI tokens (cl100k_base) that the prompt never exceeds. template: DEFAULT_TEMPLATE unless given.
    Raises ContextOverflow if not even the best passage fits, TemplateInvalid.
    """
    template = template or DEFAULT_TEMPLATE
    blocks = [_block(number, passage) for number, passage in enumerate(passages, start=1)]
    # Joined texts may count a little differently than their parts: the parts tell where to begin, the whole decides.
    room = max_tokens - count_tokens(_filled(template, "", query))
    included = 0
    for block in blocks:
        room -= count_tokens(block + "\n\n")
        if room < 0:
            break
        included += 1
    included = max(included, min(1, len(blocks)))
    while True:
        prompt = _filled(template, "\n\n".join(blocks[:included]), query)
        tokens = count_tokens(prompt)
        if tokens <= max_tokens:
            return Context(prompt, tuple(passages[:included]), tokens)
        if included <= 1:
            raise ContextOverflow(
                f"The question, the template and the best passage have {tokens:,} tokens; maxTokens allows "
                f"{max_tokens:,}. Allow more, or shorten the template.",
                needed=tokens,
            )
        included -= 1


def check_template(template: str) -> None:
    """Raise TemplateInvalid unless the template is well formed, has both variables and no other."""
    parsed = _Template(template)
    names = set(parsed.get_identifiers())
    if not parsed.is_valid():
        raise TemplateInvalid("The template has {{ without a variable's name and }} after it.")
    if unknown := sorted(names - set(_VARIABLES)):
        raise TemplateInvalid(f"The template has an unknown variable: {unknown[0][:50]}. There are context and query.")
    if missing := [name for name in _VARIABLES if name not in names]:
        raise TemplateInvalid(f"The template lacks {{{{ {missing[0]} }}}}.")


def _filled(template: str, context: str, query: str) -> str:
    check_template(template)
    return _Template(template).substitute(context=context, query=query)


def _block(number: int, passage: Passage) -> str:
    headings = [heading for heading in passage.headings if heading != passage.title]
    above = " › ".join(_one_line(each) for each in (passage.title, *headings))
    return f"[{number}] {above}\n{inert(passage.text)}"


def inert(text: str) -> str:
    """A passage's text in a prompt: a line of it that looks like the head of another passage is bracketed otherwise."""
    return re.sub(r"(?m)^(\s*)\[(\d+|Source:[^\]\n]*)\]", r"\1(\2)", text)


def _one_line(text: str) -> str:
    return " ".join(text.split())
