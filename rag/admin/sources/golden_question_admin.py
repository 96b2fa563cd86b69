"""The admin of golden questions."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Model
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from orgs.access.caller import get_caller
from rag.admin.base import SourceContentAdmin
from rag.models import GoldenQuestion
from rag.services.evaluation import golden_questions


class GoldenQuestionForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at runtime
    class Meta:
        model = GoldenQuestion
        fields = ("source", "question", "path", "passage", "active")
        widgets = {"question": forms.Textarea(attrs={"rows": 2}), "path": forms.TextInput(attrs={"size": 80})}

    request: HttpRequest

    def clean(self) -> dict[str, object]:
        values = super().clean() or self.cleaned_data
        source = values.get("source") or (self.instance.source if self.instance.source_id else None)
        if source is None:
            return values
        errors = golden_questions.validate(
            source,
            get_caller(self.request),
            question=values.get("question") or "",
            path=values.get("path") or "",
            passage=(values.get("passage") or "") if "passage" in self.fields else self.instance.passage,
            passage_changed="passage" in self.changed_data,
        )
        for error in errors:
            self.add_error(None, f"{error[0].upper()}{error[1:]}.")
        if self.instance._state.adding and source.golden_questions.count() >= golden_questions.MAX_QUESTIONS:
            self.add_error(
                None,
                gettext("A data source may have at most {max_questions} golden questions.").format(
                    max_questions=golden_questions.MAX_QUESTIONS
                ),
            )
        return values


@admin.register(GoldenQuestion)
class GoldenQuestionAdmin(SourceContentAdmin):
    form = GoldenQuestionForm
    empty_text = _(
        "A golden question names the document that a search for it must find. Each night all of them are "
        "measured, so that you notice when the search gets worse."
    )
    list_display = ("question", "source", "path", "expects_passage", "active", "created_by")
    list_filter = ("source", "active")
    list_select_related = ("source__organization", "created_by")
    search_fields = ("question", "path")

    @admin.display(description=_("has a passage"), boolean=True)
    def expects_passage(self, golden_question: GoldenQuestion) -> bool:
        return bool(golden_question.passage)

    def get_form(self, request: HttpRequest, obj: Model | None = None, change: bool = False, **kwargs: object) -> Any:
        form: Any = super().get_form(request, obj, change, **kwargs)
        form.request = request  # the class is created for this request
        return form

    def get_fields(self, request: HttpRequest, obj: GoldenQuestion | None = None) -> tuple[str, ...]:
        hides_passage = obj is not None and not golden_questions.may_see_results(get_caller(request), obj.source)
        names = ["source", "question", "path", "passage", "active"]
        return tuple(name for name in names if not (hides_passage and name == "passage"))

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        return ("source",) if obj else ()

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        initial = super().get_changeform_initial_data(request)
        return {name: value for name, value in initial.items() if name in ("source", "question")}

    def save_model(self, request: HttpRequest, obj: GoldenQuestion, form: "ModelForm[Model]", change: bool) -> None:
        if not change:
            obj.created_by = get_caller(request).authenticated_user
        super().save_model(request, obj, form, change)
