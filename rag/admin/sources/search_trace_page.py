"""A data source's pages Access (who may, and why) and Why (how a search comes to its passages)."""

import uuid
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import User
from orgs.access.caller import get_caller
from rag.errors import RagError
from rag.models import DataSource, Document
from rag.services.access import explain
from rag.services.search import document_outcome, search_trace
from rag.types import MAX_QUESTION_CHARACTERS, Question

from .source_pages import managed, render

_MOST_SUGGESTED = 200
# The steps in words, in their order (rag.services.search.search_trace.StageCounts).
_STEPS = {
    "sources": "data sources searched",
    "chunks": "chunks in them",
    "dense": "candidates by meaning",
    "lexical": "candidates by words",
    "candidates": "candidates together",
    "above_threshold": "near enough",
    "deduplicated": "best ones without repetitions",
    "ranked": "passages asked for, in the last order",
    "grounded": "held to carry the answer",
}
_STAGES = dict(
    zip(
        document_outcome.STAGES,
        ("sources", "chunks", "candidates", "near enough", "without repetitions", "last order", "for the answer"),
        strict=True,
    )
)


class WhyForm(forms.Form):
    question = forms.CharField(max_length=MAX_QUESTION_CHARACTERS, widget=forms.Textarea(attrs={"rows": 2, "cols": 80}))
    user = forms.CharField(
        label="As whom", max_length=254, required=False, widget=forms.TextInput(attrs={"list": "members", "size": 50}),
        help_text="E-mail address or id. Empty: yourself.",
    )  # fmt: skip
    path = forms.CharField(
        label="Document", max_length=1000, required=False, widget=forms.TextInput(attrs={"size": 80}),
        help_text="Path of a document of this source, to be told where it fell out.",
    )  # fmt: skip
    top_k = forms.IntegerField(label="Passages", min_value=1, max_value=100, initial=10)
    min_score = forms.FloatField(label="Least score", min_value=0, max_value=1, initial=0)
    everywhere = forms.BooleanField(label="In all data sources that I manage", required=False)


@require_safe
def access(request: HttpRequest, source_id: uuid.UUID) -> HttpResponse:
    source = managed(request, source_id)
    asked = request.GET.get("user", "")[:254].replace("\0", "").strip()
    verdicts: tuple[explain.Verdict, ...] = ()
    if asked:
        person = explain.person(asked, [source.organization_id], asker=get_caller(request))
        verdicts = explain.explain(source, person)
    return render(request, "access", source, "Access", asked=asked, verdicts=verdicts, members=_members(source))


@require_http_methods(["GET", "HEAD", "POST"])
def why(request: HttpRequest, source_id: uuid.UUID) -> HttpResponse:
    source = managed(request, source_id)
    form = WhyForm(request.POST or None)
    shown: dict[str, Any] = {}
    if form.is_valid():
        try:
            explained = _explained(request, source, form)
        except RagError as error:
            shown = {"refusal": error.message}
        else:
            steps = [(label, getattr(explained.counts, name)) for name, label in _STEPS.items()]
            stage = _STAGES[explained.outcome.stage] if explained.outcome else ""
            shown = {"explained": explained, "steps": steps, "outcome_step": stage}
    title = "Why was this found, or not?"
    return render(request, "search_trace", source, title, form=form, members=_members(source), **shown)


def _explained(request: HttpRequest, source: DataSource, form: WhyForm) -> search_trace.SearchExplanation:
    values = form.cleaned_data
    document = Document.objects.live().filter(source=source, path=values["path"]).first() if values["path"] else None
    question = Question(
        values["question"], top_k=values["top_k"], min_score=values["min_score"], rerank=True, deduplicate=True
    )
    asked = search_trace.TraceRequest(
        caller=get_caller(request),
        user=values["user"],
        data_sources=() if values["everywhere"] else (str(source.pk),),
        document_id="" if not values["path"] else str(document.pk) if document else values["path"],
    )
    return search_trace.explain_search(question, asked)


def _members(source: DataSource) -> list[str]:
    """Suggestions: the first members of the source's organisation."""
    people = User.objects.filter(memberships__organization=source.organization_id).order_by("email")
    return list(people.values_list("email", flat=True)[:_MOST_SUGGESTED])
