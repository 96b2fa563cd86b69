"""Pull sync in the admin: where the documents of a data source are fetched from, and when."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from orgs.access.caller import get_caller
from orgs.access.permissions import Permission
from orgs.admin.bases.request_permissions import holds_permission
from orgs.admin.bases.scoped_admin import ScopedAdmin
from rag.admin.base import managed_organizations
from rag.errors import InvalidRequest, TooManyLongRequests
from rag.models import DataSource, SyncConnection, SyncKind, SyncRun
from rag.models.ingestion.syncs import synced_sources
from rag.services.ingestion.sync import connections, run_actions


class SyncConnectionForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at runtime
    """Asks for a secret without showing the stored one, and refuses places that would not be read."""

    new_secret = forms.CharField(
        label=gettext_lazy("Secret key"),
        required=False,
        max_length=500,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=gettext_lazy("Of an S3 bucket. It is stored encrypted and not shown. Empty: unchanged."),
    )

    class Meta:
        help_texts = {
            "source": gettext_lazy("A data source has at most one connection. Those that have one are not listed."),
            "location": gettext_lazy(
                "A folder such as /srv/handbook, a bucket with a prefix such as documents/handbook/, or an address."
            ),
            "patterns": gettext_lazy("Which items are fetched, one pattern per line, such as *.md. Empty: all."),
            "endpoint": gettext_lazy("Of an S3 bucket that is not at Amazon, such as https://s3.example.com."),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if kind := self.fields.get("kind"):
            assert isinstance(kind, forms.ChoiceField)
            kind.choices = [(value, SyncKind(value).label) for value in connections.KINDS]

    def clean(self) -> dict[str, object]:
        values = super().clean() or self.cleaned_data
        if self.errors:
            return values
        entered = {name: value for name, value in values.items() if name != "new_secret"}
        source = entered.pop("source", None) or self.instance.source
        try:
            new = SyncConnection(source=source, **entered)
            connections.check(new)
            if stored := SyncConnection.objects.filter(pk=self.instance.pk).first():
                connections.check_secret(stored, new, secret=values.get("new_secret") or "")
        except InvalidRequest as error:
            self.add_error(error.field, error.message)
        except TooManyLongRequests as error:
            self.add_error(None, _(error.message))
        return values


@admin.register(SyncConnection)
class SyncConnectionAdmin(ScopedAdmin):
    """Creates and changes connections, and starts syncs, for those who manage the source and may send documents."""

    form = SyncConnectionForm
    empty_text = gettext_lazy(
        "A sync connection keeps a data source equal to a folder, an S3 bucket or a website: new and changed "
        "files are fetched, and removed ones are deleted."
    )
    list_display = ("source", "kind", "location", "interval_minutes", "is_active", "latest_sync", "due_at")
    list_filter = ("kind", "is_active")
    list_select_related = ("source__organization",)
    search_fields = ("source__slug", "location")
    fieldsets = (
        (None, {"fields": ("source", "kind", "location", "patterns", "interval_minutes", "is_active")}),
        (gettext_lazy("S3 bucket"), {"fields": ("endpoint", "region", "access_key", "new_secret")}),
        (gettext_lazy("State"), {"fields": ("latest_sync", "due_at", "acts_for")}),
    )
    actions = ("sync_now",)

    def visible_rows(self, request: HttpRequest) -> QuerySet[Model]:
        connections_of_organizations = SyncConnection.objects.visible_to(get_caller(request)).filter(
            source__organization__in=managed_organizations(request).values("pk")
        )
        rows: QuerySet[Model] = connections_of_organizations
        return rows

    def is_allowed(self, request: HttpRequest) -> bool:
        return holds_permission(request, Permission.SOURCES_MANAGE)

    def selectable_rows(self, request: HttpRequest, model: type[Model]) -> QuerySet[Model] | None:
        sources: QuerySet[Model] = synced_sources(get_caller(request)).filter(
            organization__in=managed_organizations(request).values("pk"), sync_connection=None
        )
        return sources.select_related("organization") if model is DataSource else None

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return self.fieldsets if obj else self.fieldsets[:-1]

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        return ("latest_sync", "acts_for", "due_at", "source") if obj else ()

    def save_model(self, request: HttpRequest, obj: SyncConnection, form: "ModelForm[Model]", change: bool) -> None:
        user = get_caller(request).authenticated_user
        connections.save(obj, secret=form.cleaned_data.get("new_secret") or "", by=user)

    def response_post_save_add(self, request: HttpRequest, obj: SyncConnection) -> HttpResponseRedirect:
        """Say how documents are fetched for the first time."""
        if obj.due_at:
            messages.info(request, _("The first sync begins within a minute. The page Syncs shows what it fetches."))
        else:
            messages.info(
                request, _("It has no schedule. To fetch documents, select it and run the action “Sync now”.")
            )
        return super().response_post_save_add(request, obj)

    @admin.display(description=gettext_lazy("latest sync"))
    def latest_sync(self, connection: SyncConnection) -> SafeString | str:
        latest = SyncRun.objects.filter(connection=connection).first()
        if latest is None:
            return "–"
        url = reverse("admin:rag_syncrun_changelist")
        return format_html(
            '<a href="{}?connection__id__exact={}">{}</a>', url, connection.pk, latest.get_state_display()
        )

    @admin.action(description=gettext_lazy("Sync now"), permissions=["change"])
    def sync_now(self, request: HttpRequest, queryset: QuerySet[SyncConnection]) -> None:
        started = 0
        for connection in queryset:
            try:
                run_actions.start(connection, by=get_caller(request).authenticated_user)
                started += 1
            except run_actions.SyncRefused as error:
                messages.warning(request, f"{connection.source.slug}: {error}")
        if started:
            text = ngettext("%(number)d sync was started.", "%(number)d syncs were started.", started)
            messages.success(request, text % {"number": started})
        else:
            messages.info(request, _("No sync was started."))
