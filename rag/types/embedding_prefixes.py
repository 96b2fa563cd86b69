"""The prefixes of questions and passages that families of embedding models were trained with, or without.

A wrong prefix raises no error, but the vectors lose quality.
"""

import re
from typing import NamedTuple


class Prefixes(NamedTuple):
    """Patterns of the prefixes of questions and of passages; the examples are for people."""

    query: str
    document: str
    query_example: str
    document_example: str


_NONE = Prefixes("", "", "", "")
# A task in English, such as "Instruct: Given a question, retrieve passages that answer it\nQuery: ". A form has no
# place for a line break, so a space may stand instead.
_INSTRUCTION = Prefixes(r"Instruct: .*\S\s+Query: ?", "", "Instruct: <the task> Query: ", "")

# Names of families (a pattern, as `family_of` returns them) → their prefixes.
REQUIRED_PREFIXES = (
    (r"all-minilm(-l\d+(-v\d+)?)?|universal-sentence-encoder-multilingual-3|text-embedding-3-(small|large)", _NONE),
    (
        r"(multilingual-)?e5-(small|base|large)(-v2|-unsupervised)?",
        Prefixes("query: ", "passage: ", "query: ", "passage: "),
    ),
    (r"(multilingual-)?e5-[a-z0-9-]*instruct", _INSTRUCTION),
    (
        r"nomic-embed-text(-v\d+(\.\d+)?(-moe)?)?",
        Prefixes("search_query: ", "search_document: ", "search_query: ", "search_document: "),
    ),
)
# What servers add to the name of a model: the format of its file, its quantization or number format.
_SUFFIX = re.compile(r"[.-](gguf|onnx|mlx|awq|gptq|i?q\d\w*|bf16|f16|f32|fp16|fp32|int8|\d-?bit)$")


def family_of(name: str) -> str:
    """Return a model's name without its publisher, tag and format, in lower case: `nomic-embed-text`."""
    family = name.strip().lower().rpartition("/")[2].partition("@")[0].partition(":")[0]
    while (shorter := _SUFFIX.sub("", family)) != family:
        family = shorter
    return family.replace("_", "-")


def find_wrong_prefixes(name: str, query_prefix: str, document_prefix: str) -> dict[str, str]:
    """Return a message for each prefix that the model was not trained with, by its field.

    Args:
        name: The model's name, as its provider names it.
        query_prefix: What is put before questions.
        document_prefix: What is put before passages.
    """
    family = family_of(name)
    required = next((prefixes for names, prefixes in REQUIRED_PREFIXES if re.fullmatch(names, family)), None)
    if required is None:
        return {}
    fields = (
        ("query_prefix", query_prefix, required.query, required.query_example),
        ("document_prefix", document_prefix, required.document, required.document_example),
    )
    return {
        field: f"{name} requires “{example}”." if example else f"{name} has no prefix."
        for field, value, pattern, example in fields
        if not re.fullmatch(pattern, value, re.DOTALL)
    }
