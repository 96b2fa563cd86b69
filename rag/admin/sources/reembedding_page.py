"""A data source's page "Re-embed": choose a model, follow the progress, switch, roll back, drop, cancel."""

import uuid
from collections.abc import Callable

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from orgs.access.caller import get_caller
from rag.errors import RagError
from rag.models import DataSource, EmbeddingModel, Reembedding
from rag.models.embedding_models import ENGLISH_MODELS
from rag.services.evaluation import golden_questions, quality
from rag.services.reembedding import lifecycle

from .source_page_base import get_managed_source, render_page

State = Reembedding.State
_MAX_HISTORY = 20
# Actions with a confirmation page: the button and the consequence.
_CONFIRMED_ACTIONS = {
    "switch": (_("Switch"), _("Searches will use the new model. The old vectors are kept until you drop them.")),
    "roll_back": (
        _("Roll back"),
        _(
            "Documents ingested since the switch are embedded with the old model. Then searches use "
            "the old model again."
        ),
    ),
    "drop": (
        _("Drop the old vectors"),
        _("After that you cannot roll back. To return to the old model, embed everything again."),
    ),
    "cancel": (_("Cancel"), _("The new vectors are deleted. Searches keep using the current model.")),
}


class StartForm(forms.Form):
    model = forms.ModelChoiceField(EmbeddingModel.objects.none(), label=_("New embedding model"))
    switches_automatically = forms.BooleanField(
        required=False, label=_("Switch automatically when all vectors are ready and the quality gate passes")
    )

    def __init__(self, source: DataSource, data: QueryDict | None = None) -> None:
        super().__init__(data, label_suffix="")
        field = self.fields["model"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = EmbeddingModel.objects.exclude(pk=source.embedding_model_id)


@require_http_methods(["GET", "POST"])
def show_reembedding(request: HttpRequest, source_id: uuid.UUID) -> HttpResponse:
    source = get_managed_source(request, source_id)
    reembedding = lifecycle.get_current(source)
    if request.method == "POST":
        try:
            _handle_action(request, source, reembedding)
        except RagError as error:
            messages.error(request, error.message)
        return HttpResponseRedirect(request.path)
    action = request.GET.get("do", "")
    available_actions = _available_actions(reembedding) if reembedding else ()
    if reembedding and action in available_actions:
        button, consequence = _CONFIRMED_ACTIONS[action]
        gate_failure = lifecycle.quality_gate_failure(reembedding) if action == "switch" else ""
        context = {
            "reembedding": reembedding,
            "action": action,
            "button": button,
            "consequence": consequence,
            "gate_failure": gate_failure,
        }
        return render_page(request, "confirm", source, f"{button}?", **context)
    history = source.reembeddings.select_related("from_model", "to_model", "started_by", "old_quality", "new_quality")
    return render_page(
        request,
        "reembed",
        source,
        gettext("Re-embed"),
        reembedding=reembedding,
        form=StartForm(source) if reembedding is None else None,
        steps=_steps(reembedding),
        has_other_models=EmbeddingModel.objects.exclude(pk=source.embedding_model_id).exists(),
        gets_second_model=source.embedding_model.name in ENGLISH_MODELS and bool(settings.RAG_MULTILINGUAL_MODEL),
        may_add_models=request.user.is_active and request.user.is_superuser,
        actions=[(name, _CONFIRMED_ACTIONS[name][0]) for name in available_actions],
        may_resume=bool(reembedding and reembedding.state in (State.FAILED, State.READY)),
        gate_failure=_gate_failure(reembedding),
        is_running=bool(reembedding and (reembedding.state == State.BUILDING or reembedding.model_to_remove_id)),
        may_see_results=golden_questions.may_see_results(get_caller(request), source),
        has_questions=quality.active_questions(source).exists(),
        history=history[:_MAX_HISTORY],
    )


_STEPS = (_("Choose a model"), _("Build the new vectors"), _("Compare and switch"), _("Drop the old vectors"))


def _gate_failure(reembedding: Reembedding | None) -> str:
    """Return why a finished re-embedding may not be switched; empty if it may, or is not finished."""
    return lifecycle.quality_gate_failure(reembedding) if reembedding and reembedding.state == State.READY else ""


def _steps(reembedding: Reembedding | None) -> list[tuple[str, bool]]:
    """Return the steps of a re-embedding, and whether each is the current one."""
    if reembedding is None:
        current = 0
    elif reembedding.state == State.READY:
        current = 2
    else:
        current = 3 if reembedding.state == State.SWITCHED else 1
    return [(str(step), number == current) for number, step in enumerate(_STEPS)]


def _available_actions(reembedding: Reembedding) -> tuple[str, ...]:
    if reembedding.state == State.READY:
        return ("switch", "cancel")
    if reembedding.state in Reembedding.OPEN_STATES:
        return ("cancel",)
    return ("roll_back", "drop") if reembedding.state == State.SWITCHED else ()


def _handle_action(request: HttpRequest, source: DataSource, reembedding: Reembedding | None) -> None:
    """Perform the posted action: start a re-embedding, or change the one that the page showed."""
    action = request.POST.get("action", "")
    if action == "start":
        message = _start(request, source)
    elif reembedding is None or str(reembedding.pk) != request.POST.get("reembedding"):
        messages.warning(
            request, gettext("This re-embedding was changed in the meantime. Check its state and try again.")
        )
        return
    elif action in _HANDLERS:
        message = _HANDLERS[action](request, reembedding)
    else:
        raise BadRequest
    messages.success(request, message)


def _start(request: HttpRequest, source: DataSource) -> str:
    form = StartForm(source, request.POST)
    if not form.is_valid():
        raise BadRequest
    lifecycle.start(
        source,
        form.cleaned_data["model"],
        by=get_caller(request).authenticated_user,
        switches_automatically=form.cleaned_data["switches_automatically"],
    )
    return gettext("Re-embedding started. A worker builds the new vectors.")


def _switch(request: HttpRequest, reembedding: Reembedding) -> str:
    has_switched = lifecycle.switch(reembedding, forced_because=request.POST.get("because", "")[:500])
    if has_switched:
        return gettext("Searches now use {to_model}.").format(to_model=reembedding.to_model)
    return gettext("Documents were ingested in the meantime. The switch happens once they are embedded.")


def _roll_back(request: HttpRequest, reembedding: Reembedding) -> str:
    lifecycle.roll_back(reembedding, by=get_caller(request).authenticated_user)
    return gettext("Documents ingested since the switch are embedded with the old model. Then searches use it again.")


def _drop(request: HttpRequest, reembedding: Reembedding) -> str:
    lifecycle.drop(reembedding)
    return gettext("A worker deletes the old vectors.")


def _cancel(request: HttpRequest, reembedding: Reembedding) -> str:
    lifecycle.cancel(reembedding)
    return "Cancelled."


def _resume(request: HttpRequest, reembedding: Reembedding) -> str:
    lifecycle.resume(reembedding)
    return gettext("A worker builds the missing vectors.")


# Action of an existing re-embedding → its handler, which returns the message of success.
_HANDLERS: dict[str, Callable[[HttpRequest, Reembedding], str]] = {
    "switch": _switch,
    "roll_back": _roll_back,
    "drop": _drop,
    "cancel": _cancel,
    "resume": _resume,
}
