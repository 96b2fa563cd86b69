"""A template filter for the reasons of access decisions, loaded with `load reason_template_filters`."""

import re

from django import template
from django.utils.translation import gettext

register = template.Library()
_NAME = re.compile(r"`([^`]*)`")


@register.filter
def quoted(reason: str) -> str:
    """Return a reason with its names in quotation marks. Reasons are also texts of the API, which has backticks."""
    return _NAME.sub(lambda name: gettext("“{name}”").format(name=name[1]), reason)
