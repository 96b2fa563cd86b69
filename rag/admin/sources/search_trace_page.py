"""A data source's page "Explain a search": which passages a query finds for a user, stage by stage."""

import uuid

from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from accounts.models import MAX_EMAIL_CHARACTERS
from orgs.access.caller import get_caller
from rag.contracts.common.rate_limits import QUERIES
from rag.errors import RagError
from rag.models import DataSource, Document
from rag.pages.base import rate_limited
from rag.pages.rendering.document_text import show_quote
from rag.pages.trace import label_counts
from rag.services.queries.trace import search_trace, trace_permissions
from rag.types import MAX_QUESTION_CHARACTERS, Question

from .source_page_base import get_managed_source, list_member_emails, render_page

# Names of the stages that can remove a document (rag.services.queries.trace.document_explanation.STAGES).
_OUTCOME_STAGES = {
    "sources": _("data sources"),
    "chunks": _("chunks"),
    "candidates": _("candidates"),
    "aboveThreshold": _("minimum score"),
    "distinct": _("deduplication"),
    "ranked": _("reranking"),
    "grounded": _("relevance for the answer"),
}


class SearchTraceForm(forms.Form):
    question = forms.CharField(
        label=_("Question"), max_length=MAX_QUESTION_CHARACTERS, widget=forms.Textarea(attrs={"rows": 2, "cols": 80})
    )
    user = forms.CharField(
        label=_("Search as"), max_length=MAX_EMAIL_CHARACTERS, required=False,
        widget=forms.TextInput(attrs={"list": "members", "size": 50}),
        help_text=_("E-mail address or id of a user. Empty: yourself."),
    )  # fmt: skip
    path = forms.CharField(
        label=_("Document"), max_length=1000, required=False, widget=forms.TextInput(attrs={"size": 80}),
        help_text=_("Path of a document of this data source, to see which stage removed it."),
    )  # fmt: skip
    top_k = forms.IntegerField(label=_("Passages"), min_value=1, max_value=100, initial=10)
    min_score = forms.FloatField(label=_("Minimum score"), min_value=0, max_value=1, initial=0)
    covers_all_sources = forms.BooleanField(label=_("Search all data sources that I manage"), required=False)


@require_http_methods(["GET", "HEAD", "POST"])
@rate_limited(QUERIES)
def show_search_trace(request: HttpRequest, source_id: uuid.UUID) -> HttpResponse:
    source = get_managed_source(request, source_id)
    form = SearchTraceForm(request.POST or None)
    result: dict[str, object] = {}
    if form.is_valid():
        try:
            explanation = _explain(request, source, form)
        except RagError as error:
            result = {"error": error.message}
        else:
            outcome_stage = _OUTCOME_STAGES[explanation.document.stage] if explanation.document else ""
            passages = [(traced, show_quote(traced.passage.text)) for traced in explanation.passages]
            result = {
                "explanation": explanation,
                "stage_counts": label_counts(explanation.counts),
                "outcome_stage": outcome_stage,
                "passages": passages,
            }
    return render_page(
        request,
        "search_trace",
        source,
        gettext("Explain a search"),
        form=form,
        members=list_member_emails(source),
        **result,
    )


def _explain(request: HttpRequest, source: DataSource, form: SearchTraceForm) -> search_trace.SearchExplanation:
    """Run the search of the form as the chosen user, and return what each stage did."""
    values = form.cleaned_data
    documents = Document.objects.live().filter(source=source, path=values["path"]).only("pk")
    document = documents.first() if values["path"] else None
    question = Question(
        values["question"], top_k=values["top_k"], min_score=values["min_score"], rerank=True, deduplicate=True
    )
    trace_request = trace_permissions.TraceRequest(
        caller=get_caller(request),
        user_reference=values["user"],
        data_sources=() if values["covers_all_sources"] else (str(source.pk),),
        document_id="" if not values["path"] else str(document.pk) if document else values["path"],
    )
    return search_trace.explain_search(question, trace_request)
