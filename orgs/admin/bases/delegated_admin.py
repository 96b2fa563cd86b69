"""Base of admin pages that change who holds which permission (orgs/access/delegation.py)."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from orgs.access.delegation import AccessChange, AccessChangeRefused, change_access
from ragsite.postgres import identity

# Where the steps in which Django answers a request find what an earlier one has left for them: an instance of the admin
# serves all requests, and these methods have no other argument in common.
_ACCESS_ERROR, _ACCESS_CHANGE = "_access_error", "_access_change"


class RefusalAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable at runtime
    """Shows why a change of access was refused: on the form, or as a message after a deletion or an action."""

    def get_form(
        self, request: HttpRequest, obj: Model | None = None, change: bool = False, **kwargs: object
    ) -> "type[forms.ModelForm[Model]]":
        form: type[forms.ModelForm[Model]] = super().get_form(request, obj, change=change, **kwargs)
        if error := request.__dict__.get(_ACCESS_ERROR):
            return _with_error(form, str(error))
        return form

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, object] | None = None,
    ) -> HttpResponse:
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except AccessChangeRefused as error:  # rolled back: render the form again, with the reason
            request.__dict__[_ACCESS_ERROR] = error
            return super().changeform_view(request, object_id, form_url, extra_context)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, object] | None = None
    ) -> HttpResponse:
        try:
            return super().delete_view(request, object_id, extra_context)
        except AccessChangeRefused as error:
            return self._redirect_with_error(request, error)

    def response_action(
        self, request: HttpRequest, queryset: QuerySet[Model], *args: Any, **kwargs: Any
    ) -> HttpResponse | None:
        try:
            with transaction.atomic():  # Django logs the deletions before it makes them
                return super().response_action(request, queryset, *args, **kwargs)
        except AccessChangeRefused as error:
            return self._redirect_with_error(request, error)

    def _redirect_with_error(self, request: HttpRequest, error: AccessChangeRefused) -> HttpResponse:
        self.message_user(request, str(error), messages.ERROR)
        return HttpResponseRedirect(request.get_full_path())


class GuardedAdmin(RefusalAdmin):
    """Saves and deletes roles, memberships or users by the rule of delegation."""

    @identity.member_changes()
    def save_model(self, request: HttpRequest, obj: Model, form: "ModelForm[Model]", change: bool) -> None:
        request.__dict__[_ACCESS_CHANGE] = AccessChange(actor=request.user, rows=[obj])  # for save_related
        super().save_model(request, obj, form, change)

    @identity.member_changes()
    def save_related(
        self,
        request: HttpRequest,
        form: "ModelForm[Model]",
        formsets: "Iterable[forms.BaseFormSet[ModelForm[Model]]]",
        change: bool,
    ) -> None:
        super().save_related(request, form, formsets, change)
        request.__dict__.pop(_ACCESS_CHANGE).verify()  # of save_model, which Django calls first

    @identity.member_changes()
    def delete_model(self, request: HttpRequest, obj: Model) -> None:
        with change_access(actor=request.user, rows=[obj]):
            super().delete_model(request, obj)

    @identity.member_changes()
    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Model]) -> None:
        with change_access(actor=request.user, rows=queryset):
            super().delete_queryset(request, queryset)


def _with_error(form: "type[ModelForm[Model]]", text: str) -> "type[ModelForm[Model]]":
    """Return the form class, whose forms have this error."""

    def clean(self: "ModelForm[Model]") -> dict[str, object] | None:
        values = form.clean(self)
        self.add_error(None, text)
        return values

    return type(form.__name__, (form,), {"clean": clean})
