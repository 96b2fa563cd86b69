"""What a page says before rows are deleted."""

from collections.abc import Mapping

from django.apps import apps
from django.utils.formats import number_format
from django.utils.text import capfirst
from django.utils.translation import gettext


def describe_deletions(counts: Mapping[str, int]) -> list[str]:
    """Return a line for each kind of row that is deleted, without the rows that only link two others."""
    models = apps.get_models(include_auto_created=True)
    links = {str(model._meta.verbose_name_plural) for model in models if model._meta.auto_created}
    return [
        f"{capfirst(gettext(name))}: {number_format(count, force_grouping=True)}"
        for name, count in counts.items()
        if name not in links
    ]
