"""A data source's page "Re-embed": choose a model, follow the progress, switch, roll back, drop, cancel."""

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
_MAX_HISTORY = 20
# Actions with a confirmation page: the button and the consequence.
_CONFIRMED_ACTIONS = {
    "switch": ("Switch", "Searches will use the new model. The old vectors are kept until you drop them."),
    "roll_back": (
        "Roll back",
        "Documents ingested since the switch are embedded with the old model. Then searches use the old model again.",
    ),
    "drop": (
        "Drop the old vectors",
        "After that you cannot roll back. Returning to the old model takes a new re-embedding.",
    ),
    "cancel": ("Cancel", "The new vectors are deleted. Searches keep using the current model."),
}


class StartForm(forms.Form):
    model = forms.ModelChoiceField(EmbeddingModel.objects.none(), label="New embedding model")
    switches_automatically = forms.BooleanField(
        required=False, label="Switch automatically when all vectors are ready and the quality gate passes"
    )

    def __init__(self, source: DataSource, data: Any = None) -> None:
        super().__init__(data, label_suffix="")
        field = self.fields["model"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = EmbeddingModel.objects.exclude(pk=source.embedding_model_id)


@require_http_methods(["GET", "POST"])
def show_reembedding(request: HttpRequest, source_id: uuid.UUID) -> HttpResponse:
    source = get_managed_source(request, source_id)
    row = lifecycle.get_current(source)
    if request.method == "POST":
        try:
            _handle_action(request, source, row)
        except RagError as error:
            messages.error(request, error.message)
        return HttpResponseRedirect(request.path)
    action = request.GET.get("do", "")
    if row and action in _available_actions(row):
        button, consequence = _CONFIRMED_ACTIONS[action]
        refusal = lifecycle.check_quality_gate(row) if action == "switch" else ""
        context = {"row": row, "action": action, "button": button, "consequence": consequence, "refusal": refusal}
        return render_page(request, "confirm", source, f"{button}?", **context)
    history = source.reembeddings.select_related("from_model", "to_model", "started_by", "old_quality", "new_quality")
    return render_page(
        request,
        "reembed",
        source,
        "Re-embed",
        row=row,
        form=StartForm(source) if row is None else None,
        actions=[(name, _CONFIRMED_ACTIONS[name][0]) for name in (_available_actions(row) if row else ())],
        may_resume=bool(row and row.state in (State.FAILED, State.READY)),
        refusal=lifecycle.check_quality_gate(row) if row and row.state == State.READY else "",
        is_running=bool(row and (row.state == State.BUILDING or row.clearing_id)),
        has_questions=quality.active_questions(source).exists(),
        history=history[:_MAX_HISTORY],
    )


def _available_actions(row: Reembedding) -> tuple[str, ...]:
    if row.state == State.READY:
        return ("switch", "cancel")
    if row.state in Reembedding.OPEN_STATES:
        return ("cancel",)
    return ("roll_back", "drop") if row.state == State.SWITCHED else ()


def _handle_action(request: HttpRequest, source: DataSource, row: Reembedding | None) -> None:
    action = request.POST.get("action", "")
    if action == "start":
        form = StartForm(source, request.POST)
        if not form.is_valid():
            raise BadRequest
        lifecycle.start(
            source,
            form.cleaned_data["model"],
            by=get_caller(request).authenticated_user,
            switches_automatically=form.cleaned_data["switches_automatically"],
        )
        messages.success(request, "Re-embedding started. A worker builds the new vectors.")
        return
    if row is None or str(row.pk) != request.POST.get("row"):
        messages.warning(request, "This re-embedding was changed in the meantime. Check its state and try again.")
        return
    if action == "switch":
        has_switched = lifecycle.switch(row, forced_because=request.POST.get("because", "")[:500])
        pending = "Documents were ingested in the meantime. The switch happens once they are embedded."
        messages.success(request, f"Searches now use {row.to_model}." if has_switched else pending)
        return
    entry = _ACTIONS.get(action)
    if entry is None:
        raise BadRequest
    message, call = entry
    call(request, row)
    messages.success(request, message)


_ACTIONS: dict[str, tuple[str, Callable[[HttpRequest, Reembedding], object]]] = {
    "roll_back": (
        "Documents ingested since the switch are embedded with the old model. Then searches use it again.",
        lambda request, row: lifecycle.roll_back(row, by=get_caller(request).authenticated_user),
    ),
    "drop": ("A worker deletes the old vectors.", lambda _, row: lifecycle.drop(row)),
    "cancel": ("Cancelled.", lambda _, row: lifecycle.cancel(row)),
    "resume": ("A worker builds the missing vectors.", lambda _, row: lifecycle.resume(row)),
}
