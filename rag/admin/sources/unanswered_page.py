"""A data source's page "Unanswered questions": clusters of them, which become golden questions with one click."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_http_methods

from orgs.access.caller import get_caller
from rag.errors import RagError
from rag.pages.base import explain
from rag.services.evaluation import golden_questions, unanswered_clusters
from ragsite.postgres.models import as_uuid

from .source_page_base import get_managed_source, render_page


@require_http_methods(["GET", "POST"])
def show_unanswered(request: HttpRequest, source_id: uuid.UUID) -> HttpResponse:
    source, caller = get_managed_source(request, source_id), get_caller(request)
    if request.method == "POST":
        values = request.POST.getlist("question")[: unanswered_clusters.MAX_SHOWN_QUESTIONS]
        question_ids = {key for value in values if (key := as_uuid(value))}
        try:
            if request.POST.get("action") == "dismiss":
                count = unanswered_clusters.dismiss(source, caller, question_ids)
                text = ngettext("Removed {number} question.", "Removed {number} questions.", count)
                messages.success(request, text.format(number=count))
            else:
                question = unanswered_clusters.make_golden_question(source, caller, question_ids)
                messages.success(request, gettext("“{question}” is a golden question now.").format(question=question))
        except RagError as error:
            messages.error(request, error.message)
        return HttpResponseRedirect(request.path)
    clusters: list[unanswered_clusters.QuestionCluster] = []
    problem = ""
    try:
        clusters = unanswered_clusters.list_clusters(source, caller)
    except RagError as refused:
        problem = explain(refused)
    return render_page(
        request,
        "unanswered",
        source,
        gettext("Unanswered questions"),
        clusters=clusters,
        problem=problem,
        may_see_questions=golden_questions.may_see_results(caller, source),
        keeps_questions=source.organization.query_history == "full",
    )
