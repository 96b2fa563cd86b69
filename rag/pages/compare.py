"""The page "Compare": one question with two settings, side by side, with scores and durations."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from orgs.access.caller import get_caller
from rag.contracts.common.rate_limits import QUERIES
from rag.services.evaluation import compare_settings
from rag.text.citation_markers import find_markers
from rag.types import MAX_QUESTION_CHARACTERS

from .base import page, rate_limited
from .forms import DEFAULT_TOP_K, CompareForm
from .rendering.answer_rendering import show_blocks
from .rendering.document_text import show_quote
from .sources import list_queryable_sources

_SHOWN_PASSAGES = 20
_DIFFERENT_SETTINGS = {"second_ranking": "off", "top_k": DEFAULT_TOP_K, "second_top_k": DEFAULT_TOP_K}


@page
@require_http_methods(["GET", "HEAD", "POST"])
@rate_limited(QUERIES)
@rate_limited(QUERIES)  # it asks twice
def show_comparison(request: HttpRequest) -> HttpResponse:
    """Show the form, or the question's answer with both settings."""
    caller = get_caller(request)
    sources = list_queryable_sources(caller)
    if request.method == "POST":
        form = CompareForm(request.POST, sources=sources)
    else:
        question = request.GET.get("q", "")[:MAX_QUESTION_CHARACTERS]
        form = CompareForm(sources=sources, initial={"question": question, **_DIFFERENT_SETTINGS})
    compared: list[dict[str, object]] = []
    if form.is_valid():
        answers = compare_settings.compare(form.to_settings(), form.to_selection(caller))
        compared = [_column(number, answer) for number, answer in enumerate(answers, start=1)]
    columns = [
        {"title": _("First setting"), "fields": [form[name] for name in form.COMPARED_FIELDS]},
        {"title": _("Second setting"), "fields": [form[f"second_{name}"] for name in form.COMPARED_FIELDS]},
    ]
    context = {"section": "compare", "title": _("Compare"), "form": form, "columns": columns, "compared": compared}
    status = 400 if form.is_bound and form.errors else 200
    return render(request, "pages/compare.html", {**context, "sources": sources}, status=status)


def _column(number: int, answer: compare_settings.ComparedAnswer) -> dict[str, object]:
    if answer.result is None:
        return {"number": number, "answer": answer}
    text = answer.result.answer.text
    for start, end in reversed(list(find_markers(text))):  # the passages below are numbered by their rank
        text = text[:start].rstrip() + text[end:]
    passages = [(passage, show_quote(passage.text)) for passage in answer.result.retrieval.passages[:_SHOWN_PASSAGES]]
    return {"number": number, "answer": answer, "blocks": show_blocks(text), "passages": passages}
