"""Users' pages with what is kept about a person: handed out, and removed with the account."""

import io
import tempfile
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import FileResponse, HttpRequest

from accounts.admin import UserAdmin
from accounts.models import User
from rag.services.maintenance import personal_data

admin.site.unregister(User)


@admin.register(User)
class PersonAdmin(UserAdmin):
    actions = (*UserAdmin.actions, "export_data")

    @admin.action(description="Export everything about the chosen person (JSON)", permissions=["delete"])
    def export_data(self, request: HttpRequest, queryset: QuerySet[User]) -> FileResponse | None:
        if queryset.count() != 1:
            messages.error(request, "Choose one person: each gets a file of their own.")
            return None
        file = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the response)
        text = io.TextIOWrapper(file, encoding="utf-8")
        personal_data.export_personal_data(queryset.get(), text)
        text.detach()
        file.seek(0)
        return FileResponse(file, as_attachment=True, filename="person.json", content_type="application/json")

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Counted. Who may delete an account deletes what belongs to it, whether or not its own page lets them."""
        people = [user.pk for user in objs]
        counts = {"users": len(people)}
        for name in ("memberships", "api_keys", "searches", "conversations"):
            related = User._meta.get_field(name).related_model
            assert isinstance(related, type)
            counts[name.replace("_", " ")] = related._default_manager.filter(user__in=people).count()
        return [f"{number:,} {name}" for name, number in counts.items()], counts, set(), []
