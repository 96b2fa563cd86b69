"""The page "Ask": a question, its answer while it is written, and the conversation so far."""

import uuid
from functools import partial

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from orgs.access.caller import get_caller
from rag.contracts.common.error_rendering import render_error as render_contract_error
from rag.contracts.common.rate_limits import QUERIES
from rag.contracts.common.streaming import stream
from rag.errors import RagError
from rag.models import ConversationMessage, DataSource
from rag.services.queries import ask_replies, suggested_questions
from rag.services.queries.history import conversation_store, own_conversations
from rag.services.queries.permitted_queries import run_to_completion
from rag.types import Retrieval

from .base import explain, page, problem_fragment, rate_limited, wants_stream
from .forms import MAX_SOURCES_IN_ADDRESS, AskForm
from .rendering.answer_rendering import render_answer, show_answer, show_conversation
from .rendering.curl_command import curl_command
from .sources import count_queryable_sources, list_queryable_sources, may_manage_sources, may_trace


@page
@require_http_methods(["GET", "HEAD", "POST"])
@rate_limited(QUERIES)
def ask(request: HttpRequest, conversation_id: uuid.UUID | None = None) -> HttpResponseBase:
    """Show the form and the conversation, or answer a question."""
    caller = get_caller(request)
    sources = list_queryable_sources(caller)
    if request.method != "POST":
        initial = {"question": request.GET.get("q", "")[:2000], **AskForm.initial_options(request.GET)}
        return _render(request, AskForm(sources=sources, initial=initial), sources, conversation_id)
    form = AskForm(request.POST, sources=sources)
    if not form.is_valid():
        if wants_stream(request):
            return HttpResponse(problem_fragment(_first_error(form)), status=400)
        return _render(request, form, sources, conversation_id, status=400)
    return _stream_answer(request, form) if wants_stream(request) else _show_answer(request, form, sources)


def _stream_answer(request: HttpRequest, form: AskForm) -> HttpResponseBase:
    events = ask_replies.ask(
        form.to_question(),
        form.to_selection(get_caller(request)),
        form.to_options(stream=True),
        form.cleaned_data["conversation"],
    )
    question, csrf_token = form.cleaned_data["question"], get_token(request)
    extra = {"curl": curl_command(request, form), "may_trace": may_trace(get_caller(request))}

    def render_result(outcome: ask_replies.ConversationAnswer) -> object:
        html = render_answer(question, outcome.answer, csrf_token=csrf_token, extra=extra)
        conversation = str(outcome.conversation_id) if outcome.conversation_id else ""
        url = _conversation_url(outcome.conversation_id, form) if outcome.conversation_id else ""
        shown = {"pk": conversation, "title": conversation_store.title_of(question)}
        context = {"conversation": shown, "csrf_token": csrf_token}
        heading = render_to_string("pages/conversation_heading.html", context) if conversation else ""
        return {"html": html, "conversation": conversation, "url": url, "title": shown["title"], "heading": heading}

    return stream(
        events,
        render_sources=_retrieval_counts,
        render_result=render_result,
        on_error=partial(render_contract_error, format_error=_error_body),
    )


def _show_answer(request: HttpRequest, form: AskForm, sources: list[DataSource]) -> HttpResponse:
    """Answer for a browser without scripts."""
    outcome = run_to_completion(
        ask_replies.ask(
            form.to_question(),
            form.to_selection(get_caller(request)),
            form.to_options(stream=False),
            form.cleaned_data["conversation"],
        )
    )
    if outcome.conversation_id:  # a reload must not ask again
        return HttpResponseRedirect(_conversation_url(outcome.conversation_id, form) + "#latest")
    exchange = {
        "question": form.cleaned_data["question"],
        "part": show_answer(outcome.answer),
        "curl": curl_command(request, form),
    }
    return _render(request, form, sources, None, exchanges=[exchange])


def _conversation_url(conversation_id: uuid.UUID, form: AskForm) -> str:
    """Return the address of a conversation with the chosen options, so that they are kept when it is loaded again.

    More than MAX_SOURCES_IN_ADDRESS sources are all left out, so that the address stays short.
    """
    options = form.chosen_options
    if len(options.get("sources", [])) > MAX_SOURCES_IN_ADDRESS:
        del options["sources"]
    return reverse("conversation", args=[conversation_id], query=options)


def _render(
    request: HttpRequest,
    form: AskForm,
    sources: list[DataSource],
    conversation_id: uuid.UUID | None,
    *,
    status: int = 200,
    exchanges: list[dict[str, object]] | None = None,
) -> HttpResponse:
    caller = get_caller(request)
    conversation = own_conversations.get_conversation(caller, conversation_id) if conversation_id else None
    if conversation:
        stored = own_conversations.read_conversation(caller, conversation)
        parts = show_conversation([exchange.answer for exchange in stored])
        exchanges = [
            {"question": exchange.question, "part": part} for exchange, part in zip(stored, parts, strict=True)
        ]
    context: dict[str, object] = {
        "section": "ask",
        "title": conversation.title if conversation else _("Ask"),
        "form": form,
        "sources": sources,
        "source_count": count_queryable_sources(caller, sources),
        "has_several_organizations": len({source.organization_id for source in sources}) > 1,
        "conversation": conversation,
        "exchanges": exchanges or [],
        "reasons": ConversationMessage.RatingReason.choices,
        "is_stored": own_conversations.is_stored(caller),
        "may_trace": may_trace(caller),
        "may_manage_sources": not sources and may_manage_sources(caller),
        "is_member": bool(sources) or caller.authenticated_user.memberships.exists(),
        "suggestions": [] if exchanges or form.is_bound else suggested_questions.suggest_questions(caller, sources),
    }
    return render(request, "pages/ask.html", context, status=status)


def _first_error(form: AskForm) -> str:
    name, errors = next(iter(form.errors.items()))
    return f"{form[name].label}: {errors[0]}" if name != "__all__" else str(errors[0])


def _retrieval_counts(retrieval: Retrieval) -> object:
    documents = {passage.document_id for passage in retrieval.passages}
    passage_count, document_count = len(retrieval.passages), len(documents)
    passages = ngettext("{number} passage", "{number} passages", passage_count).format(number=passage_count)
    of_documents = ngettext("in {number} document", "in {number} documents", document_count)
    in_documents = of_documents.format(number=document_count)
    text = _("Found {passages} {in_documents}. Writing …").format(passages=passages, in_documents=in_documents)
    return {"passages": passage_count, "documents": document_count, "text": text}


def _error_body(status: int, message: str, details: dict[str, object], error: RagError | None) -> dict[str, object]:
    return {"html": problem_fragment(explain(error) if error else message)}
