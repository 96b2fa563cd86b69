"""Makes the texts of models translatable: names, labels, help texts and choices.

They are translated here and not where they are written. This way no text is forgotten, not even the label that Django
derives from the name of a field, and migrations keep the English texts.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from django.apps import apps
from django.db import models
from django.utils.translation import gettext_lazy

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# Django derives names from those of classes and fields. These would not be spelled as people write them.
_SPELLINGS = {"sign in domain": "sign-in domain", "sign in domains": "sign-in domains", "is active": "active"}


def translate_model_texts() -> None:
    """Replace the texts of all models and choices by lazy translations. Called once, when the models are loaded."""
    for choices in find_choices():
        for member in choices:
            member._label_ = _lazy(member.label)
    for model in apps.get_models():
        if isinstance(model._meta.verbose_name, str):  # Django derives the plural lazily, before it can be translated
            model._meta.verbose_name_plural = str(model._meta.verbose_name_plural)
        model._meta.verbose_name = _lazy(model._meta.verbose_name)
        model._meta.verbose_name_plural = _lazy(model._meta.verbose_name_plural)
        for field in model._meta.local_fields + model._meta.local_many_to_many:
            _translate_field(field)


def find_choices() -> Iterator[type[models.Choices]]:
    """Yield the classes of choices."""
    waiting: list[type[models.Choices]] = [models.TextChoices, models.IntegerChoices]
    while waiting:
        choices = waiting.pop()
        waiting.extend(choices.__subclasses__())
        yield choices


def _translate_field(field: "models.Field[object, object]") -> None:
    field.verbose_name = _lazy(field.verbose_name)
    field.help_text = _lazy(field.help_text)
    if field.choices:
        field.choices = [(value, _lazy(label)) for value, label in field.flatchoices]


def _lazy(text: "StrOrPromise | None") -> "StrOrPromise":
    """Return a text as a lazy translation. Libraries have translated some of theirs already."""
    return gettext_lazy(_SPELLINGS.get(text, text)) if text and isinstance(text, str) else text or ""
