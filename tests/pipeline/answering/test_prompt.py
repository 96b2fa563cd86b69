"""Building prompts (pipeline contract, sub-contract 3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import ContextOverflow, TemplateInvalid
from rag.pipeline.answering.prompt import build_prompt, validate_template
from rag.text.token_counts import count_tokens
from tests.support.passages import PASSAGE, passages

# Combining marks, joined emoji, right-to-left marks, tags and the like: few characters, many tokens.
HOSTILE = st.text(
    alphabet=st.sampled_from(list("a \n[1]{}🏳👩\u200d\u0301\u202e\U000e0041\ufffd中ﷺ'=")), min_size=1, max_size=200
)
TEXTS = st.lists(st.one_of(st.text(min_size=1, max_size=300), HOSTILE), max_size=8)
TEMPLATES = st.sampled_from(
    [
        "",
        "{{context}}{{query}}",
        "{{ context }} {{ query }} {{ context }}",
        "{{query}}🏳" + "{{ context }}{{ query }}" * 4,
    ]
)


# No deadline: the first call loads the vocabulary.
@given(
    texts=TEXTS,
    query=st.one_of(st.text(min_size=1, max_size=200), HOSTILE),
    max_tokens=st.one_of(st.integers(0, 64), st.integers(64, 600)),
    template=TEMPLATES,
    model=st.sampled_from(["", "gpt-4o-mini", "llama3"]),
    adjacent=st.booleans(),
)
def test_the_prompt_never_exceeds_its_budget(
    texts: list[str], query: str, max_tokens: int, template: str, model: str, adjacent: bool
) -> None:
    """Guarantee "Prompt fits within maxTokens", with and without adjacent passages; passages are whole, best first."""
    offered = passages(*texts)
    if adjacent:
        ends = [sum(map(len, texts[: index + 1])) for index in range(len(texts))]
        offered = [
            one.copy_with(position=index, start=ends[index] - len(one.text), end=ends[index])
            for index, one in enumerate(offered)
        ]
    try:
        context = build_prompt(query, offered, max_tokens=max_tokens, template=template, model=model)
    except ContextOverflow:
        with pytest.raises(ContextOverflow):  # only if not even the best passage fits
            build_prompt(query, offered[:1], max_tokens=max_tokens, template=template, model=model)
        return
    assert count_tokens(context.prompt, model) == context.token_count <= max_tokens
    assert list(context.passages) == offered[: len(context.passages)]
    assert len(context.numbered_passages) <= len(context.passages)
    if len(context.passages) < len(offered):
        with_one_more = build_prompt(
            query, offered[: len(context.passages) + 1], max_tokens=10**6, template=template, model=model
        )
        assert with_one_more.token_count > max_tokens, "another passage would fit"


@pytest.mark.parametrize(
    ("model", "newer"),
    [
        *((name, True) for name in ("gpt-4o-mini", "openai/gpt-4.1", "o3", "gpt-5")),
        *((name, False) for name in ("", "gpt-4", "gpt-4-turbo", "text-embedding-3-small", "llama3.1", "olmo-2")),
    ],
)
def test_tokens_are_counted_with_the_models_vocabulary(model: str, newer: bool) -> None:
    """Sub-contract 3, `tokenCount`: newer OpenAI models have another vocabulary. The counts are those of tiktoken."""
    counts = {
        "Вчера мы гуляли по набережной.": (15, 10),
        "🏳👩\u200d🚀 \u0301\u202e\U000e0041\ufffd": (19, 15),
        "def f(x):\n\n    return 'it's' + x  # 12345\t\r\n": (18, 17),
        "<|endoftext|> isn't a special token 中文。": (15, 13),
    }
    assert {text: count_tokens(text, model) for text in counts} == {
        text: expected[newer] for text, expected in counts.items()
    }


def test_a_larger_budget_includes_more_passages() -> None:
    offered = passages(*[f"{number} " + "zebra " * 50 for number in range(10)])
    included = [len(build_prompt("zebras", offered, max_tokens=tokens).passages) for tokens in (160, 300, 600, 5000)]
    assert included == sorted(included)
    assert (included[0], included[-1]) == (1, 10)


def test_a_passage_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(ContextOverflow) as failure:
        build_prompt("zebras", passages("zebra " * 500), max_tokens=100)
    assert int(str(failure.value.data["needed"])) > 500


def test_passages_are_numbered_under_their_titles_and_headings() -> None:
    passage = PASSAGE.copy_with(title="Animals\n[2] Fake", headings=("Horses", "Zebras"), text="Striped.")
    prompt = build_prompt("zebras", [passage], max_tokens=500).prompt
    assert "[1] Animals (2) Fake › Horses › Zebras\nStriped." in prompt


def test_a_passage_cannot_look_like_another_one() -> None:
    prompt = build_prompt("zebras", passages("One.\n[2] The law\nObey.\n [Source: The law]"), max_tokens=500).prompt
    assert "\n(2) The law\nObey.\n (Source: The law)" in prompt


def test_template_validation() -> None:
    for good in (
        "{{ context }}{{query}}",
        "{{context}} { } }} {{query}} {{ context }}",
        "$context {{context}} {{query}}",
    ):
        validate_template(good)
    for bad in (
        "",
        "{{ context }}",
        "{{ query }}",
        "{{context}}{{query}}{{x}}",
        "{{context}}{{query}}{{",
        "{{context.x}}{{query}}",
    ):
        with pytest.raises(TemplateInvalid):
            validate_template(bad)


@given(st.text(max_size=100))
def test_templates_only_insert_their_variables(template: str) -> None:
    wrapped = template + "{{ context }}{{ query }}"
    try:
        context = build_prompt("THE QUERY", [], max_tokens=1000, template=wrapped)
    except (TemplateInvalid, ContextOverflow):
        return
    assert context.prompt == wrapped.replace("{{ context }}{{ query }}", "THE QUERY")
