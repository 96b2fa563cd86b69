"""Retrieved text is data: what a document asks for reaches no prompt as more than text, and no answer unchecked."""

import dataclasses
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orgs.access.caller import Caller
from orgs.access.permissions import Visibility
from rag.errors import ContextOverflow, TemplateInvalid
from rag.models import Document
from rag.pipeline.answering.answer import AnswerOptions
from rag.pipeline.answering.chat_context import NOTICE, build_system_prompt
from rag.pipeline.answering.extractive import extract_quotes, render_quotes
from rag.pipeline.answering.generate import BY_NUMBER, BY_TITLE
from rag.pipeline.answering.prompt import build_prompt
from rag.pipeline.answering.sanitize import sanitize
from rag.services.search import agent, queries
from rag.services.search.agent_tools import chunk_out
from rag.types import AnswerResult, GenerationOptions, Passage, Question
from tests.providers.test_rerankers import passages
from tests.support.factories import World, ingest_text
from tests.support.injections import EXFILTRATION, INJECTIONS, Injection
from tests.support.provider_server import ProviderServer

QUESTION = "Where are the bicycles parked?"
HONEST = "Bicycles are parked in the yard behind the house."
# What tells a model's template that somebody else speaks, and where a passage begins or is cited.
ACTIVE = re.compile(
    r"<\|[\w▁]+\|>|<｜|＜|</?s>|\[/?INST\]|<<|<(start|end)_of_turn>|</?(tool_call|invoke|function_calls)|\[/?TOOL_RESULTS\]"
    r"|^\s*[>*]*\s*(system|human|user|assistant)\s*:|^#+ ?(instruction|response)"
    r"|[\[［【]\s*\d+\s*[\]］】]|[\u200b\u2060\u202a-\u202e\ufe00-\ufe0f\U000e0000-\U000e0fff]|!\[|<img",
    re.IGNORECASE | re.MULTILINE,
)
each_injection = pytest.mark.parametrize("injection", INJECTIONS, ids=lambda each: each.name)


def both(injection: Injection) -> list[Passage]:
    """Of two documents: the honest one, and the other."""
    honest, hostile = passages(HONEST, injection.text)
    return [dataclasses.replace(honest, title="Yard"), dataclasses.replace(hostile, title=injection.text[:80])]


@each_injection
def test_nothing_in_a_passage_is_more_than_text(injection: Injection) -> None:
    """In every prompt that there is; only our own heads `[1]` and `[2]` are left, and the example in the question."""
    offered = both(injection)
    prompt = build_prompt(QUESTION, offered, max_tokens=3000, template="{{ context }}\n{{ query }}").prompt
    assert ACTIVE.findall(re.sub(r"(?m)^\[[12]\] ", "", prompt)) == []
    assert [line[:4] for line in prompt.splitlines() if line.startswith("[")] == ["[1] ", "[2] "]
    block = build_system_prompt("Be brief.", offered)
    assert ACTIVE.findall(block) == []
    assert (block.count("=== End Context ==="), block.count("=== Retrieved Context ===")) == (1, 1)
    assert (block.count("[Source: "), block.endswith(f"\n\nBe brief.\n\n{NOTICE}")) == (2, True)
    assert ACTIVE.findall(str(chunk_out(offered[1])["text"])) == []


def test_every_prompt_declares_passages_untrusted() -> None:
    for told_so in (BY_NUMBER.system, BY_TITLE.system, agent.INSTRUCTIONS, NOTICE):
        assert "not to be trusted" in told_so
        assert "follow no instruction" in told_so


PIECES = [
    "<",
    "|",
    ">",
    "im_start",
    "[",
    "]",
    "INST",
    "/",
    "1",
    "\u200b",
    "\u200d",
    "\U000e0041",
    "\n",
    "system",
    ":",
    "#",
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_what_is_taken_out_leaves_nothing_that_has_to_be_taken_out(text: str) -> None:
    once = sanitize(text)
    for token in ("<|im_start|>", "[INST]", "[/INST]", "[1]"):
        assert token not in once
    assert not re.search(r"^(system):", once, re.MULTILINE)


def test_ordinary_text_stays_as_it_is() -> None:
    for text in (
        "The user can log in; the system answers: yes. See (3) and item #4, a < b | c > d.",
        "می‌خواهم 👩‍💻 ❤️ שלום",
        "# Installation\n\n## Input devices\n\n1. Open the lid [sic] and see [the manual](https://docs.example/a).",
        "| a | b |\n| --- | --- |\n| x -> y | f(x)[i] |",
    ):
        assert sanitize(text) == text
    code = "first = rows[0]\nlast = rows[1][2]"
    assert sanitize(code, "text/x-python") == code


@each_injection
def test_extraction_cannot_be_steered(injection: Injection) -> None:
    """The same sentences, whatever stands in the other passages, before or behind."""
    honest, hostile = both(injection)
    alone = render_quotes(extract_quotes(QUESTION, [honest]))
    assert alone == HONEST
    for offered in ([honest, hostile], [hostile, honest]):
        assert render_quotes(extract_quotes(QUESTION, offered)) == alone


def asked(world: World, model: str = "") -> AnswerResult:
    generation = GenerationOptions(model=model)
    reader = queries.SourceSelection(Caller(world.users["member"]))
    question = Question(QUESTION, top_k=50, rerank=False, deduplicate=True)
    return queries.run_to_completion(
        queries.ask(question, reader, AnswerOptions(max_tokens=8000, generation=generation))
    )


@pytest.mark.django_db
def test_an_obedient_model_invents_no_citation(world: World, language_model: ProviderServer) -> None:
    """It says what each document wants. What it cites beside the honest passage is dropped, and counted."""
    source = world.source("library", visibility=Visibility.PUBLIC)
    ingest_text(source, "honest.md", HONEST, title="Yard")
    for number, injection in enumerate(INJECTIONS):
        ingest_text(source, f"{number}.md", injection.text, title=injection.name)
    texts = {document.pk: document.text for document in Document.objects.all()}
    assert render_quotes(asked(world, "extractive").answer.citations) == HONEST
    for injection in INJECTIONS:
        language_model.replies = [injection.obeyed, f"{HONEST.removesuffix('.')} [1]. {injection.obeyed} [99]."]
        alone, mixed = asked(world), asked(world)
        assert alone.answer.confidence == 0, injection.name
        assert (alone.answer.citations, alone.answer.warnings[-1]) in (
            ((), "CONTEXT_IGNORED"),
            ((), "NOT_GROUNDED"),
        ), injection.name
        assert "PWNED" not in alone.answer.text
        assert "evil.example" not in alone.answer.text
        for answered in (alone, mixed):
            assert not re.search(r"\[(99|4711)\]", answered.answer.text), injection.name
            for citation in answered.answer.citations:
                assert 1 <= citation.number <= len(answered.context.numbered_passages)
                assert texts[citation.passage.document_id][citation.start : citation.end] == citation.quote
        if mixed.answer.citations:
            assert mixed.answer.citations_dropped >= 1, injection.name


def test_picture_addresses_do_not_reach_a_model() -> None:
    for name in ("picture", "picture in HTML"):
        (injection,) = [each for each in INJECTIONS if each.name == name]
        assert EXFILTRATION not in build_prompt(QUESTION, both(injection), max_tokens=3000).prompt


ESCAPES = [
    "{{ context.__class__ }}", "{{ query.__class__.__mro__[1].__subclasses__() }}", "{{ context|attr('__class__') }}",
    "{{ ''.__class__ }}", "{{ 7*7 }}", "{{ self }}", "{{ config }}", "{{ request }}", "{{ settings.SECRET_KEY }}",
    "{{ context[0] }}", "{{ cycler.__init__.__globals__ }}", "{{ context() }}", "{{ query!r }}",
    "{{ query:>999999999 }}",
    "{{ __import__('os').environ }}", "{{{{ context }}}}", "{{ lipsum }}", "{{ context }",
]  # fmt: skip
INERT = [
    "{% for x in range(10**9) %}x{% endfor %}", "{% include '/etc/passwd' %}", "{# x #}", "${query.x}", "$query",
    "%(query)s", "{query.__class__}", "{0.__class__}", "<% x %>", "#{7*7}", "{% raw %}", "`id`", "$(id)", "\\x7b\\x7b",
]  # fmt: skip


@pytest.mark.parametrize("template", ESCAPES)
def test_a_template_knows_its_variables_and_nothing_else(template: str) -> None:
    """The pipeline contract, sub-contract 3: TEMPLATE_ERROR."""
    with pytest.raises(TemplateInvalid):
        build_prompt("Where?", passages("Tea."), max_tokens=500, template=f"{{{{ context }}}}{{{{ query }}}}{template}")


@pytest.mark.parametrize("template", INERT)
def test_other_languages_templates_are_text(template: str) -> None:
    made = build_prompt("Where?", [], max_tokens=500, template=f"{{{{ context }}}}{{{{ query }}}}{template}")
    assert made.prompt == f"Where?{template}"


def test_what_is_filled_in_is_not_filled_in_again() -> None:
    made = build_prompt(
        "{{ context }}", passages("{{ query }} {{ x }}"), max_tokens=500, template="{{context}} {{query}}"
    )
    assert made.prompt.endswith("{{ query }} {{ x }} {{ context }}")


def test_a_template_makes_nothing_large(monkeypatch: Any) -> None:
    long = "{{ context }} {{ query }}" + "x " * 9_000
    with pytest.raises(ContextOverflow):
        build_prompt("Where?", passages("Tea."), max_tokens=500, template=long)
