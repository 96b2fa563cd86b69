"""The forms of the pages: a question with its options, and the rating of an answer."""

import copy
import datetime
from collections.abc import Iterable
from typing import Any

from django import forms
from django.conf import settings
from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from orgs.access.caller import Caller
from rag.models import ConversationMessage, DataSource, SourceType
from rag.models.search.conversations import MAX_COMMENT_CHARACTERS, MAX_TITLE_CHARACTERS
from rag.pipeline.answering.prompt import DEFAULT_PROMPT_TOKENS
from rag.services.queries.source_selection import SourceSelection
from rag.types import MAX_QUESTION_CHARACTERS, AnswerOptions, Filters, GenerationOptions, Mode, Question

_MAX_LIST_ITEMS = 20
_MAX_LIST_CHARACTERS = 400
DEFAULT_TOP_K, MAX_TOP_K = 10, 50
MAX_SOURCES_IN_ADDRESS = 40
_QUESTION_FIELDS = ("question", "conversation")
MODES = {
    "": _("Default"),
    Mode.HYBRID.value: _("By meaning and by words"),
    Mode.DENSE.value: _("By meaning only"),
    Mode.LEXICAL.value: _("By words only"),
}


class CommaSeparated(forms.CharField):
    """Several values in one text field, separated by commas."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, max_length=_MAX_LIST_CHARACTERS, **kwargs)

    def clean(self, value: object) -> tuple[str, ...]:
        text = super().clean(value)
        return tuple(part.strip() for part in text.split(",") if part.strip())[:_MAX_LIST_ITEMS]


class AskForm(forms.Form):
    """A question, the filters of its search, and how to search."""

    question = forms.CharField(label=_("Your question"), max_length=MAX_QUESTION_CHARACTERS)
    conversation = forms.CharField(required=False, max_length=36)
    sources = forms.MultipleChoiceField(label=_("Sources"), required=False)
    tags = CommaSeparated(label=_("Tags"))
    source_type = forms.ChoiceField(
        label=_("Type of document"), required=False, choices=[("", _("Any")), *SourceType.choices]
    )
    langs = CommaSeparated(label=_("Languages"))
    date_from = forms.DateField(required=False, label=_("Dated from"))
    date_to = forms.DateField(required=False, label=_("Dated until"))
    mode = forms.ChoiceField(label=pgettext_lazy("noun", "Search"), required=False, choices=MODES.items())
    ranking = forms.ChoiceField(label=_("Reranking"), required=False, choices=(("", _("On")), ("off", _("Off"))))
    top_k = forms.IntegerField(label=_("Passages"), required=False, min_value=1, max_value=MAX_TOP_K)
    model = forms.ChoiceField(label=_("Language model"), required=False)

    def __init__(self, *args: Any, sources: Iterable[DataSource], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        fields: Any = self.fields
        fields["sources"].choices = [(str(source.pk), source.name) for source in sources]
        fields["model"].choices = [("", _("Default")), *((name, name) for name in model_choices())]

    @classmethod
    def initial_options(cls, query: QueryDict) -> dict[str, object]:
        """Return the options that a page's address names, as initial values."""
        options: dict[str, object] = {
            name: query[name][:_MAX_LIST_CHARACTERS]
            for name in cls.base_fields
            if name in query and name not in _QUESTION_FIELDS
        }
        return options | {"sources": query.getlist("sources")[:MAX_SOURCES_IN_ADDRESS]}

    @property
    def chosen_options(self) -> dict[str, list[str]]:
        """The options that differ from the defaults, even while the form has errors."""
        values = {name: self[name].value() for name in AskForm.base_fields if name not in _QUESTION_FIELDS}
        options = {name: value if isinstance(value, list) else [str(value)] for name, value in values.items() if value}
        return {name: chosen for name, chosen in options.items() if chosen != [str(DEFAULT_TOP_K)]}

    @property
    def selected_sources(self) -> list[str]:
        """The ids of the chosen sources, even while the form has errors."""
        return self.chosen_options.get("sources", [])

    @property
    def has_filters(self) -> bool:
        """Whether anything but the question and the sources differs from the defaults."""
        return bool(self.chosen_options.keys() - {"sources"})

    def clean_question(self) -> str:
        question = str(self.cleaned_data["question"]).replace("\x00", "")
        # A conversation that is named after invisible characters only has no link in the history that people see.
        if not any(character.isprintable() and not character.isspace() for character in question):
            raise forms.ValidationError(self.fields["question"].error_messages["required"], code="required")
        return question

    def to_question(self) -> Question:
        values = self.cleaned_data
        filters = Filters(
            tags=values["tags"],
            source_types=(values["source_type"],) if values["source_type"] else (),
            langs=values["langs"],
            date_from=_start_of(values["date_from"]),
            date_to=_end_of(values["date_to"]),
        )
        return Question(
            values["question"],
            top_k=values["top_k"] or DEFAULT_TOP_K,
            filters=filters,
            rerank=values["ranking"] != "off",
            mode=Mode(values["mode"]) if values["mode"] else None,
            deduplicate=True,
        )

    def to_selection(self, caller: Caller) -> SourceSelection:
        return SourceSelection(caller, data_sources=self.cleaned_data["sources"])

    def to_options(self, *, stream: bool) -> AnswerOptions:
        generation = GenerationOptions(self.cleaned_data["model"], stream=stream)
        return AnswerOptions(max_prompt_tokens=DEFAULT_PROMPT_TOKENS, generation=generation)


class CompareForm(AskForm):
    """A question with two settings: those of AskForm, and a second mode, ranking, number of passages and model."""

    COMPARED_FIELDS = ("mode", "ranking", "top_k", "model")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in self.COMPARED_FIELDS:
            self.fields[f"second_{name}"] = copy.deepcopy(self.fields[name])

    def to_settings(self) -> list[tuple[Question, AnswerOptions]]:
        """Return the question and the options of both settings."""
        first, values = (self.to_question(), self.to_options(stream=False)), self.cleaned_data
        self.cleaned_data = values | {name: values[f"second_{name}"] for name in self.COMPARED_FIELDS}
        second = self.to_question(), self.to_options(stream=False)
        self.cleaned_data = values
        return [first, second]


class RatingForm(forms.Form):
    """Whether an answer was helpful, and why not."""

    rating = forms.ChoiceField(choices=(("up", _("Helpful")), ("down", _("Not helpful")), ("none", _("No rating"))))
    reason = forms.ChoiceField(required=False, choices=ConversationMessage.RatingReason.choices)
    comment = forms.CharField(required=False, max_length=MAX_COMMENT_CHARACTERS)


class TitleForm(forms.Form):
    """The title of a conversation."""

    title = forms.CharField(max_length=MAX_TITLE_CHARACTERS)


def model_choices() -> list[str]:
    """Return the language models that a question may name."""
    return list(dict.fromkeys([settings.LLM_MODEL, *settings.LLM_MODELS])) if settings.LLM_MODEL else []


def _start_of(day: datetime.date | None) -> datetime.datetime | None:
    return timezone.make_aware(datetime.datetime.combine(day, datetime.time.min)) if day else None


def _end_of(day: datetime.date | None) -> datetime.datetime | None:
    return timezone.make_aware(datetime.datetime.combine(day, datetime.time.max)) if day else None
