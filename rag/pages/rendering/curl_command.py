"""The command that the page "Ask" shows below an answer: the same question over the API."""

import json
import shlex

from django.http import HttpRequest

from rag.pages.forms import AskForm


def curl_command(request: HttpRequest, form: AskForm) -> str:
    """Return a command that sends the question of a valid form to the API, outside of a conversation."""
    values, question = form.cleaned_data, form.to_question()
    filters = {
        "tags": list(values["tags"]),
        "sourceType": values["source_type"],
        "lang": list(values["langs"]),
        "dateFrom": question.filters.date_from.isoformat() if question.filters.date_from else "",
        "dateTo": question.filters.date_to.isoformat() if question.filters.date_to else "",
    }
    body: dict[str, object] = {"query": question.text, "topK": question.top_k, "rerank": question.rerank}
    body |= {"mode": question.mode.value} if question.mode else {}
    body |= {"model": values["model"]} if values["model"] else {}
    body |= {"dataSources": values["sources"]} if values["sources"] else {}
    if fields := [{"field": name, "value": value} for name, value in filters.items() if value]:
        body["filters"] = fields
    address = request.build_absolute_uri("/api/rag/query")
    return (
        f'curl -s {shlex.quote(address)} \\\n  -H "Authorization: Bearer $TOKEN" '
        f"-H 'Content-Type: application/json' \\\n  -d {shlex.quote(json.dumps(body, ensure_ascii=False))}"
    )
