"""The page "Search trace": what each stage of a search did, for those who manage data sources.

Every use is recorded in the audit trail, as on the page of a data source
(rag.services.queries.trace.trace_permissions).
"""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from orgs.access.caller import get_caller
from rag.contracts.common.rate_limits import QUERIES
from rag.services.queries.trace import search_trace, trace_permissions

from .base import page, rate_limited, render_problem
from .forms import AskForm
from .rendering.document_text import show_quote
from .sources import list_queryable_sources, may_trace

# Labels of the stages, in their order (rag.services.queries.trace.search_trace.StageCounts).
_STAGE_LABELS = (
    ("sources", _("searched data sources")),
    ("chunks", _("their chunks")),
    ("dense", _("candidates of the vector search")),
    ("lexical", _("candidates of the word search")),
    ("candidates", _("candidates of both, without duplicates")),
    ("above_threshold", _("at or above the minimum score")),
    ("deduplicated", _("after deduplication")),
    ("ranked", _("requested passages after reranking")),
    ("grounded", _("relevant enough to answer from")),
)


def label_counts(counts: search_trace.StageCounts) -> list[tuple[str, int]]:
    """Return each stage's label and how much it left, in the order of the stages."""
    return [(str(label), getattr(counts, name)) for name, label in _STAGE_LABELS]


@page
@require_http_methods(["GET", "HEAD", "POST"])
@rate_limited(QUERIES)
def show_trace(request: HttpRequest) -> HttpResponse:
    """Show what each stage of the search for a question does; without a question, the form that asks for it."""
    caller = get_caller(request)
    if request.method != "POST":
        context = {"title": gettext("Search trace"), "may_trace": may_trace(caller)}
        return render(request, "pages/trace_form.html", context)
    form = AskForm(request.POST, sources=list_queryable_sources(caller))
    if not form.is_valid():
        text = gettext("Ask it again, and open its trace then.")
        return render_problem(request, 400, gettext("This question cannot be traced"), text)
    trace = search_trace.explain_search(form.to_question(), trace_permissions.TraceRequest(caller=caller))
    context = {
        "title": gettext("Search trace"),
        "question": form.cleaned_data["question"],
        "trace": trace,
        "stage_counts": label_counts(trace.counts),
        "passages": [(traced, show_quote(traced.passage.text)) for traced in trace.passages],
    }
    return render(request, "pages/trace.html", context)
