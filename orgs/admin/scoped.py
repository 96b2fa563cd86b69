"""An admin page that shows, offers and accepts only what its user may see: rows, choices, and the result of a save."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import DataError
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from orgs.access.permissions import Permission
from orgs.models import Membership, Organization


def organizations_with_permission(request: HttpRequest, permission: Permission) -> QuerySet[Organization]:
    """Those in which this request's user holds the permission; for a superuser all."""
    if request.user.is_superuser:
        return Organization.objects.filter(deleted_at=None)
    allowed = Membership.objects.allowing(request.user, permission)
    return Organization.objects.filter(pk__in=allowed.values("organization"))


class ScopedRelatedFilter(admin.RelatedFieldListFilter):
    """The sidebar offers what the page's forms may offer, and no name from elsewhere."""

    def field_choices(
        self, field: Any, request: HttpRequest, model_admin: "admin.ModelAdmin[Any]"
    ) -> list[tuple[str, Any]]:
        rows = (
            model_admin.selectable_rows(request, field.remote_field.model)
            if isinstance(model_admin, ScopedAdmin)
            else None
        )
        if rows is None:
            return list(super().field_choices(field, request, model_admin))
        return [(str(row.pk), str(row)) for row in rows[:200]]


class ScopedAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable at runtime
    """Subclasses say which rows are visible, which rows of other models may be chosen, and who may come in at all.

    Django's own model permissions are not asked: what somebody may do follows from their roles in organisations.
    """

    def visible_rows(self, request: HttpRequest) -> QuerySet[Any]:
        raise NotImplementedError

    def is_allowed(self, request: HttpRequest) -> bool:
        raise NotImplementedError

    def selectable_rows(self, request: HttpRequest, model: type[Model]) -> QuerySet[Any] | None:
        """The rows of `model` that a form of this page may offer; None: all."""
        return None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return self.visible_rows(request).order_by(
            *(self.get_ordering(request) or self.model._meta.ordering or ("pk",))
        )

    def get_list_filter(self, request: HttpRequest) -> list[Any]:
        related = {field.name for field in self.model._meta.get_fields() if field.is_relation}
        return [(name, ScopedRelatedFilter) if name in related else name for name in super().get_list_filter(request)]

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Only what the sidebar offers: any other filter in the address would read fields that the page hides."""
        names = {entry[0] if isinstance(entry, tuple) else entry for entry in self.get_list_filter(request)}
        field, _, how = lookup.partition("__")
        return field in names and "regex" not in how and super().lookup_allowed(lookup, value, request)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        try:
            return super().changelist_view(request, extra_context)
        except (DataError, ValidationError, ValueError, OverflowError):  # an address that somebody made up
            return HttpResponseRedirect(f"{request.path}?e=1")

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """How many go along, not which: their names may be of things that this user does not see."""
        _, counts, needed, protected = super().get_deleted_objects(objs, request)
        return [f"{number} {name}" for name, number in counts.items()], counts, needed, protected

    def has_module_permission(self, request: HttpRequest) -> bool:
        # Django's admin asks this about 16 times for each model and page, and each answer takes several queries.
        answers: dict[type[Model], bool] = request.__dict__.setdefault("_module_permissions", {})
        if self.model not in answers:
            answers[self.model] = request.user.is_active and self.is_allowed(request)
        return answers[self.model]

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        if not self.has_module_permission(request):
            return False
        return obj is None or self.visible_rows(request).filter(pk=obj.pk).exists()

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self.has_view_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self.has_view_permission(request, obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.has_module_permission(request)

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if (queryset := self.selectable_rows(request, db_field.remote_field.model)) is not None:
            kwargs["queryset"] = queryset
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if (queryset := self.selectable_rows(request, db_field.remote_field.model)) is not None:
            kwargs["queryset"] = queryset
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Check after the write, inside its transaction, that the saved row is still visible to its writer."""
        super().save_related(request, form, formsets, change)
        if not self.visible_rows(request).filter(pk=form.instance.pk).exists():
            raise PermissionDenied
