"""A data source's page Re-embed: choose a model, watch, switch, roll back, drop, cancel."""

import uuid
from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.views.decorators.http import require_http_methods

from orgs.access.caller import get_caller
from rag.errors import RagError
from rag.models import DataSource, EmbeddingModel, Reembedding
from rag.services.evaluation import quality
from rag.services.reembedding import lifecycle

from .source_pages import get_managed_source, render_page

State = Reembedding.State
_HISTORY = 20
# What is asked again before it is done: its button, and what it means.
_ASKED = {
    "switch": ("Switch", "Searches use the new model from now on. The old vectors stay until you drop them."),
    "roll_back": ("Roll back", "What came in since the switch is embedded with the old model, then searches use it."),
    "drop": ("Drop the old vectors", "There is no way back to the old model then, except by building anew."),
    "cancel": ("Cancel", "What was built is removed. Searches go on with the model that they use now."),
}


class StartForm(forms.Form):
    model = forms.ModelChoiceField(EmbeddingModel.objects.none(), label="New embedding model")
    switches_automatically = forms.BooleanField(
        required=False, label="Switch by itself as soon as it is ready, if the quality gate allows it"
    )

    def __init__(self, source: DataSource, data: Any = None) -> None:
        super().__init__(data, label_suffix="")
        field = self.fields["model"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = EmbeddingModel.objects.exclude(pk=source.embedding_model_id)


@require_http_methods(["GET", "POST"])
def page(request: HttpRequest, source_id: uuid.UUID) -> HttpResponse:
    source = get_managed_source(request, source_id)
    row = lifecycle.get_current(source)
    if request.method == "POST":
        try:
            _act(request, source, row)
        except RagError as error:
            messages.error(request, error.message)
        return HttpResponseRedirect(request.path)
    asked = request.GET.get("do", "")
    if row and asked in _offered(row):
        button, meaning = _ASKED[asked]
        refusal = lifecycle.check_quality_gate(row) if asked == "switch" else ""
        context = {"row": row, "action": asked, "button": button, "meaning": meaning, "refusal": refusal}
        return render_page(request, "confirm", source, f"{button}?", **context)
    history = source.reembeddings.select_related("from_model", "to_model", "started_by", "old_quality", "new_quality")
    return render_page(
        request,
        "reembed",
        source,
        "Re-embed",
        row=row,
        form=StartForm(source) if row is None else None,
        actions=[(name, _ASKED[name][0]) for name in (_offered(row) if row else ())],
        may_resume=bool(row and row.state in (State.FAILED, State.READY)),
        refusal=lifecycle.check_quality_gate(row) if row and row.state == State.READY else "",
        works=bool(row and (row.state == State.BUILDING or row.clearing_id)),
        has_questions=quality.active_questions(source).exists(),
        history=history[:_HISTORY],
    )


def _offered(row: Reembedding) -> tuple[str, ...]:
    if row.state == State.READY:
        return ("switch", "cancel")
    if row.state in Reembedding.OPEN_STATES:
        return ("cancel",)
    return ("roll_back", "drop") if row.state == State.SWITCHED else ()


def _act(request: HttpRequest, source: DataSource, row: Reembedding | None) -> None:
    action = request.POST.get("action", "")
    if action == "start":
        form = StartForm(source, request.POST)
        if not form.is_valid():
            raise BadRequest
        itself = form.cleaned_data["switches_automatically"]
        lifecycle.start(source, form.cleaned_data["model"], by=get_caller(request).authenticated_user, switches_automatically=itself)
        messages.success(request, "It has begun: a worker builds the vectors.")
        return
    if row is None or str(row.pk) != request.POST.get("row"):
        messages.warning(request, "Somebody else was at it meanwhile: look again.")
        return
    if action == "switch":
        done = lifecycle.switch(row, forced_because=request.POST.get("because", "")[:500])
        late = "Documents came in meanwhile: they are embedded first, then it switches by itself."
        messages.success(request, f"Searches use {row.to_model} now." if done else late)
        return
    act = _ACTS.get(action)
    if act is None:
        raise BadRequest
    words, call = act
    call(request, row)
    messages.success(request, words)


_ACTS: dict[str, tuple[str, Callable[[HttpRequest, Reembedding], object]]] = {
    "roll_back": (
        "What came in since is embedded with the old model, then it switches back.",
        lambda request, row: lifecycle.roll_back(row, by=get_caller(request).authenticated_user),
    ),
    "drop": ("The old vectors are removed in the background.", lambda _, row: lifecycle.drop(row)),
    "cancel": ("Cancelled.", lambda _, row: lifecycle.cancel(row)),
    "resume": ("A worker looks again for what is missing.", lambda _, row: lifecycle.resume(row)),
}
