"""Adds what concerns other apps to the admin of users, which belongs to `accounts`.

These are the export and the deletion of personal data, and the rule that an organisation keeps its holders of
permissions.
"""

import io
import tempfile
from collections.abc import Mapping, Sequence

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import FileResponse, HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.admin import UserAdmin
from accounts.models import User
from orgs.admin.bases.delegated_admin import GuardedAdmin
from orgs.admin.bases.object_pages import ObjectPagesMixin
from rag.services.maintenance import personal_data_export

from .base import CountedDeletionMixin

admin.site.unregister(User)


@admin.register(User)
class UserWithPersonalDataAdmin(CountedDeletionMixin, ObjectPagesMixin, GuardedAdmin, UserAdmin):
    actions = (*UserAdmin.actions, "export_data")

    @admin.action(description=_("Export the personal data of the selected user (JSON)"), permissions=["delete"])
    def export_data(self, request: HttpRequest, queryset: QuerySet[User]) -> FileResponse | None:
        if queryset.count() != 1:
            messages.error(request, gettext("Select exactly one user: the export contains the data of one user."))
            return None
        file = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the response)
        text = io.TextIOWrapper(file, encoding="utf-8")
        personal_data_export.export_personal_data(queryset.get(), text)
        text.detach()
        file.seek(0)
        return FileResponse(file, as_attachment=True, filename="person.json", content_type="application/json")

    def count_deletions(self, objects: Sequence[User]) -> Mapping[str, int]:
        """Return how many users, and rows that belong to them, are deleted, by label.

        Rows count even if whoever deletes the users may not open the admin pages of these rows.
        """
        user_ids = [user.pk for user in objects]
        counts = {"users": len(user_ids)}
        names = {field: field for field in ("memberships", "searches", "conversations")} | {"api_keys": "API keys"}
        for field, name in names.items():
            related = User._meta.get_field(field).related_model
            assert isinstance(related, type)
            counts[name] = related._default_manager.filter(user__in=user_ids).count()
        return counts
