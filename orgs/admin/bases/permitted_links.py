"""Links of read-only fields: only to rows whose page the user may open. Django links to all that have a page."""

from collections.abc import Callable, Iterator
from functools import partial

from django.contrib import admin
from django.contrib.admin.helpers import AdminField, AdminForm, AdminReadonlyField, Fieldline, Fieldset
from django.db.models import ForeignObjectRel, Model
from django.http import HttpRequest


def limit_links(form: AdminForm, request: HttpRequest) -> "PermittedForm":
    """Return the same form, whose read-only fields link only to what the user of this request may see."""
    limited = PermittedForm(
        form.form,
        form.fieldsets,
        {},
        readonly_fields=form.readonly_fields,
        model_admin=form.model_admin,
    )
    limited.prepopulated_fields = form.prepopulated_fields
    limited.request = request
    return limited


class PermittedForm(AdminForm):
    request: HttpRequest

    def __iter__(self) -> Iterator[Fieldset]:
        for fieldset in super().__iter__():
            yield _PermittedFieldset(fieldset, self.request)


class _PermittedFieldset(Fieldset):
    def __init__(self, fieldset: Fieldset, request: HttpRequest) -> None:
        self.__dict__.update(fieldset.__dict__)
        self._request = request

    def __iter__(self) -> Iterator[Fieldline]:
        for line in super().__iter__():
            yield _PermittedLine(line, self._request)


class _PermittedLine(Fieldline):
    def __init__(self, line: Fieldline, request: HttpRequest) -> None:
        self.__dict__.update(line.__dict__)
        self._request = request

    def __iter__(self) -> Iterator[AdminField | AdminReadonlyField]:
        for field in super().__iter__():
            if isinstance(field, AdminReadonlyField):
                vars(field)["get_admin_url"] = partial(_link_if_permitted, field.get_admin_url, self._request)
            yield field


def _link_if_permitted(
    link: Callable[[ForeignObjectRel, Model], str], request: HttpRequest, remote_field: ForeignObjectRel, row: Model
) -> str:
    pages = admin.site._registry.get(remote_field.model)
    return link(remote_field, row) if pages and pages.has_view_permission(request, row) else str(row)
