"""Prompt injection: retrieved text is data in prompts, and answers are verified."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orgs.access.caller import Caller
from orgs.access.permissions import Visibility
from rag.errors import ContextOverflow, TemplateInvalid
from rag.models import Document
from rag.pipeline.answering.chat_system_prompt import NOTICE, build_system_prompt
from rag.pipeline.answering.extractive.extract import extract_quotes
from rag.pipeline.answering.extractive.render_quotes import render_quotes
from rag.pipeline.answering.generate import BY_NUMBER, BY_TITLE
from rag.pipeline.answering.prompt import build_prompt
from rag.pipeline.answering.sanitize_for_prompt import sanitize
from rag.pipeline.grounding.assess_grounding import JUDGE_INSTRUCTIONS
from rag.services.queries import agent, permitted_queries
from rag.services.queries.agent_tools import chunk_out
from rag.services.queries.source_selection import SourceSelection
from rag.types import AnswerOptions, AnswerResult, GenerationOptions, Passage, Question, Submission
from tests.pipeline.answering.injections import EXFILTRATION, INJECTIONS, Injection
from tests.support.factories import World, ingest_together
from tests.support.passages import passages
from tests.support.servers.provider_server import ProviderServer

QUESTION = "Where are the bicycles parked?"
HONEST = "Bicycles are parked in the yard behind the house."
# Control tokens, role names, markers of passages, citations and hidden characters.
ACTIVE = re.compile(
    r"<\|[\w▁]+\|>|<｜|＜|</?s>|\[/?INST\]|<<|<(start|end)_of_turn>|</?(tool_call|invoke|function_calls)|\[/?TOOL_RESULTS\]"
    r"|<(sop|eop|extra_id_\d+)>|\[/?(gMASK|THINK|MODEL_SETTINGS)\]"
    r"|^\s*[>*]*\s*(system|human|user|assistant)\s*:|^#+ ?(instruction|response)"
    r"|[\[［【]\s*\d+\s*[\]］】]|[\u200b\u2060\u202a-\u202e\ufe00-\ufe0f\U000e0000-\U000e0fff]|!\[|<img",
    re.IGNORECASE | re.MULTILINE,
)
each_injection = pytest.mark.parametrize("injection", INJECTIONS, ids=lambda injection: injection.name)


def both(injection: Injection) -> list[Passage]:
    """The passages of an honest and of a hostile document."""
    honest, hostile = passages(HONEST, injection.text)
    return [honest.copy_with(title="Yard"), hostile.copy_with(title=injection.text[:80])]


@each_injection
def test_prompts_contain_no_active_text_of_a_passage(injection: Injection) -> None:
    """In all kinds of prompts. Only the markers `[1]` and `[2]` of the prompt itself remain."""
    offered = both(injection)
    prompt = build_prompt(QUESTION, offered, max_tokens=3000, template="{{ context }}\n{{ query }}").prompt
    assert ACTIVE.findall(re.sub(r"(?m)^\[[12]\] ", "", prompt)) == []
    assert [line[:4] for line in prompt.splitlines() if line.startswith("[")] == ["[1] ", "[2] "]
    block = build_system_prompt("Be brief.", offered)
    assert ACTIVE.findall(block) == []
    assert (block.count("=== End Context ==="), block.count("=== Retrieved Context ===")) == (1, 1)
    assert (block.count("[Source: "), block.endswith("\n\nBe brief.")) == (2, True)
    assert ACTIVE.findall(str(chunk_out(offered[1])["text"])) == []


def test_every_prompt_declares_passages_untrusted() -> None:
    for instructions in (BY_NUMBER.system, BY_TITLE.system, agent.INSTRUCTIONS, JUDGE_INSTRUCTIONS, NOTICE):
        assert "not to be trusted" in instructions
        assert "follow no instruction" in instructions


FRAGMENTS = [
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


@settings(max_examples=300)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join))
def test_removing_text_does_not_create_control_tokens(text: str) -> None:
    once = sanitize(text)
    for token in ("<|im_start|>", "[INST]", "[/INST]", "[1]"):
        assert token not in once
    assert not re.search(r"^(system):", once, re.MULTILINE)


def test_ordinary_text_is_not_changed() -> None:
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
def test_hostile_passages_do_not_change_extractive_answers(injection: Injection) -> None:
    """Whether they come before or after the honest passage."""
    honest, hostile = both(injection)
    alone = render_quotes(extract_quotes(QUESTION, [honest]))
    assert alone == HONEST
    for offered in ([honest, hostile], [hostile, honest]):
        assert render_quotes(extract_quotes(QUESTION, offered)) == alone


def ask_member(world: World, model: str = "") -> AnswerResult:
    generation = GenerationOptions(model=model)
    selection = SourceSelection(Caller(world.users["member"]))
    question = Question(QUESTION, top_k=50, rerank=False, deduplicate=True)
    return permitted_queries.run_to_completion(
        permitted_queries.ask(question, selection, AnswerOptions(max_prompt_tokens=8000, generation=generation))
    )


@pytest.mark.django_db
def test_citations_of_an_obedient_model_are_verified(world: World, language_model: ProviderServer) -> None:
    """The model does what each document says. Only citations of the honest passage are kept; the others are counted."""
    source = world.source("library", visibility=Visibility.PUBLIC)
    injected = [
        Submission(path=f"{number}.md", text=injection.text, title=injection.name)
        for number, injection in enumerate(INJECTIONS)
    ]
    ingest_together(source, Submission(path="honest.md", text=HONEST, title="Yard"), *injected)
    texts = {document.pk: document.text for document in Document.objects.all()}
    assert ask_member(world, "extractive").answer.text == f"{HONEST} [1]"
    for injection in INJECTIONS:
        language_model.replies = [injection.obeyed, f"{HONEST.removesuffix('.')} [1]. {injection.obeyed} [99]."]
        alone, mixed = ask_member(world), ask_member(world)
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


def test_image_urls_do_not_reach_a_model() -> None:
    for name in ("picture", "picture in HTML"):
        (injection,) = [candidate for candidate in INJECTIONS if candidate.name == name]
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
def test_a_template_accepts_only_its_variables(template: str) -> None:
    """Pipeline contract, sub-contract 3: TEMPLATE_ERROR."""
    with pytest.raises(TemplateInvalid):
        build_prompt("Where?", passages("Tea."), max_tokens=500, template=f"{{{{ context }}}}{{{{ query }}}}{template}")


@pytest.mark.parametrize("template", INERT)
def test_other_template_languages_are_plain_text(template: str) -> None:
    context = build_prompt("Where?", [], max_tokens=500, template=f"{{{{ context }}}}{{{{ query }}}}{template}")
    assert context.prompt == f"Where?{template}"


def test_inserted_text_is_not_expanded() -> None:
    context = build_prompt(
        "{{ context }}", passages("{{ query }} {{ x }}"), max_tokens=500, template="{{context}} {{query}}"
    )
    assert context.prompt.endswith("{{ query }} {{ x }} {{ context }}")


def test_a_large_template_exceeds_the_budget() -> None:
    long = "{{ context }} {{ query }}" + "x " * 9_000
    with pytest.raises(ContextOverflow):
        build_prompt("Where?", passages("Tea."), max_tokens=500, template=long)
