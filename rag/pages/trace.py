"""The page "Search trace": what each stage of a search did, for those who manage data sources.

Every use is recorded in the audit trail, as on the page of a data source (rag.services.search.trace.trace_permissions).
"""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from orgs.access.caller import get_caller
from rag.contracts.common.rate_limits import QUERIES
from rag.services.search.trace import search_trace, trace_permissions

from .access import limited, page, render_problem
from .forms import AskForm
from .sources import list_queryable_sources

# Labels of the stages, in their order (rag.services.search.trace.search_trace.StageCounts).
STAGE_LABELS = (
    ("sources", "searched data sources that you manage"),
    ("chunks", "their chunks"),
    ("dense", "candidates of the search by meaning"),
    ("lexical", "candidates of the search by words"),
    ("candidates", "candidates of both, without duplicates"),
    ("above_threshold", "at or above the minimum score"),
    ("deduplicated", "after deduplication"),
    ("ranked", "passages after reranking"),
    ("grounded", "relevant enough to answer from"),
)


@page
@require_POST
@limited(QUERIES)
def show_trace(request: HttpRequest) -> HttpResponse:
    """Show what each stage of the search for a question does."""
    caller = get_caller(request)
    form = AskForm(request.POST, sources=list_queryable_sources(caller))
    if not form.is_valid():
        return render_problem(request, 400, "This question cannot be traced", "Ask it again, and open its trace then.")
    trace = search_trace.explain_search(form.to_question(), trace_permissions.TraceRequest(caller=caller))
    stage_counts = [(label, getattr(trace.counts, name)) for name, label in STAGE_LABELS]
    context = {
        "title": "Search trace",
        "question": form.cleaned_data["question"],
        "trace": trace,
        "stage_counts": stage_counts,
    }
    return render(request, "pages/trace.html", context)
