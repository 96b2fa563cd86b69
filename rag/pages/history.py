"""The page "History", and what its forms change: titles, deletions, ratings of answers."""

import uuid

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from orgs.access.caller import get_caller
from rag.models import ConversationMessage
from rag.services.evaluation import answer_ratings
from rag.services.queries.history import own_conversations

from .base import page, rate_limited, wants_stream
from .forms import RatingForm, TitleForm

_PER_PAGE = 20
_MAX_SEARCH_CHARACTERS = 200


@page
@require_safe
def list_history(request: HttpRequest) -> HttpResponse:
    """List the visitor's own conversations."""
    caller, search = get_caller(request), request.GET.get("q", "").strip()[:_MAX_SEARCH_CHARACTERS].replace("\x00", "")
    paginator = Paginator(own_conversations.list_conversations(caller, search=search), _PER_PAGE)
    context = {
        "section": "history",
        "title": _("History"),
        "search": search,
        "page": paginator.get_page(request.GET.get("page")),
        "is_stored": own_conversations.is_stored(caller),
    }
    return render(request, "pages/history.html", context)


@page
@require_POST
@rate_limited()
def rename(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    conversation, form = (
        own_conversations.get_conversation(get_caller(request), conversation_id),
        TitleForm(request.POST),
    )
    if form.is_valid():
        own_conversations.rename_conversation(conversation, form.cleaned_data["title"])
        messages.success(request, _("The conversation has its new title."))
    else:
        messages.error(request, _("A title needs 1 to 120 characters."))
    return HttpResponseRedirect(reverse("conversation", args=[conversation_id]))


@page
@require_POST
@rate_limited()
def delete(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    caller = get_caller(request)
    own_conversations.delete_conversation(caller, own_conversations.get_conversation(caller, conversation_id))
    messages.success(request, _("The conversation is deleted."))
    return HttpResponseRedirect(reverse("history"))


@page
@require_POST
@rate_limited()
def rate(request: HttpRequest, message_id: uuid.UUID) -> HttpResponse:
    """Save the rating of an answer. The page's script gets the form again, other browsers the conversation."""
    form = RatingForm(request.POST)
    if not form.is_valid():
        raise BadRequest("The rating is malformed.")
    values = form.cleaned_data
    message = answer_ratings.rate_answer(
        get_caller(request),
        str(message_id),
        is_helpful={"up": True, "down": False}.get(values["rating"]),
        reason=values["reason"],
        comment=values["comment"],
    )
    if wants_stream(request):
        context = {"message": message, "reasons": ConversationMessage.RatingReason.choices, "is_saved": True}
        return render(request, "pages/rating.html", context)
    return HttpResponseRedirect(reverse("conversation", args=[message.conversation_id]) + f"#answer-{message.pk}")
