"""Invitations in the admin, for users with `members.manage`."""

from typing import ClassVar
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin import helpers
from django.db import transaction
from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from orgs.admin.bases.delegated_admin import RefusalAdmin
from orgs.admin.bases.one_organization_admin import OneOrganizationAdmin, OneOrganizationForm
from orgs.invitations import invitation_lifecycle
from orgs.models import Invitation
from ragsite.http.addresses import build_public_url

_NO_MAIL_SERVER = _("This installation cannot send e-mail: its operator has not set RAG_EMAIL_URL.")
_IN_THE_LOG = _(
    "This installation has no mail server. The message for {email}, with its link, is in the log of the web server "
    "(with “make run”: {log})."
)
_NOT_SENT = _("The mail server did not take the message for {}. Send the invitation again later.")


_STATES = {
    "open": pgettext_lazy("invitation", "open"),
    "accepted": _("accepted"),
    "revoked": _("revoked"),
    "expired": _("expired"),
}


class InvitationForm(OneOrganizationForm):
    """Accepts addresses that an account may have."""

    class Meta:
        help_texts: ClassVar[dict[str, object]] = {
            "roles": _("Without a role, the person can query what is open to all members, and change nothing."),
        }

    def clean_email(self) -> str:
        email = User.objects.normalize_email(self.cleaned_data["email"])
        if not User.objects.is_address(email):
            raise forms.ValidationError(gettext("Latin letters without accents before the @."))
        return email


@admin.register(Invitation)
class InvitationAdmin(OneOrganizationAdmin, RefusalAdmin):
    """Invites people, and sends invitations again or revokes them."""

    form = InvitationForm
    empty_text = _(
        "Invite a person by e-mail: the message has a link with which they choose a password and become a member."
    )
    list_display = (
        *("email", "organization", "role_names", "team_names", "state", "sent_at", "expires_at", "invited_by"),
    )
    list_filter = ("organization",)
    search_fields = ("email",)
    list_select_related = ("organization", "invited_by")
    actions = ("send_again", "revoke")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Invitation]:
        return super().get_queryset(request).prefetch_related("roles", "teams")

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        if obj is None:
            return ("email", "organization", "roles", "teams")
        names = ("email", "organization", "role_names", "team_names", "state", "invited_by")
        return (*names, "sends", "sent_at", "expires_at", "accepted_at", "revoked_at")

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, object] | None = None
    ) -> HttpResponse:
        if not settings.RAG_EMAIL_URL and self.has_add_permission(request):
            messages.error(request, _NO_MAIL_SERVER)
            return HttpResponseRedirect(reverse("admin:orgs_invitation_changelist"))
        return super().add_view(request, form_url, extra_context)

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, object],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Model | None = None,
    ) -> HttpResponse:
        if add:
            context |= {"title": gettext("Invite a person"), "save_label": gettext("Send the invitation")}
        return super().render_change_form(request, context, add, change, form_url, obj)

    def save_model(self, request: HttpRequest, obj: Invitation, form: "ModelForm[Model]", change: bool) -> None:
        """Store the invitation with the service's checks. Their error is shown on the form."""
        assert isinstance(request.user, User)
        names = ("organization", "email", "roles", "teams")
        values = {name: form.cleaned_data[name] for name in names}
        invitation, token = invitation_lifecycle.issue(inviter=request.user, **values)
        obj.pk = invitation.pk
        self._send_after_commit(request, invitation, token)

    def response_add(self, request: HttpRequest, obj: Model, post_url_continue: str | None = None) -> HttpResponse:
        return HttpResponseRedirect(reverse("admin:orgs_invitation_changelist"))

    @admin.display(description=_("state"))
    def state(self, invitation: Invitation) -> str:
        return str(_STATES[invitation.state])

    @admin.action(description=_("Send the selected invitations again"), permissions=["view"])
    def send_again(self, request: HttpRequest, invitations: QuerySet[Invitation]) -> None:
        """Each gets a new link, which ends the old one."""
        assert isinstance(request.user, User)
        maximum = invitation_lifecycle.MAX_SENT_AN_HOUR
        if invitations.count() > maximum:
            messages.error(request, gettext("Select at most {maximum} invitations.").format(maximum=maximum))
            return
        for invitation in invitations:
            try:
                token = invitation_lifecycle.renew(invitation, inviter=request.user)
            except invitation_lifecycle.InvitationRefused as error:
                messages.error(request, f"{invitation.email}: {error}")
            else:
                self._send_after_commit(request, invitation, token)

    @admin.action(description=_("Revoke the selected invitations"), permissions=["view"])
    def revoke(self, request: HttpRequest, invitations: QuerySet[Invitation]) -> TemplateResponse | None:
        if "confirmed" in request.POST:
            messages.success(
                request,
                gettext("Revoked invitations: {count}. Their links do not work any more.").format(
                    count=invitation_lifecycle.revoke(invitations)
                ),
            )
            return None
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("Revoke invitations?"),
            "opts": self.opts,
            "invitations": invitations.open(),  # type: ignore[attr-defined]  # the model's queryset
            "selected": helpers.ACTION_CHECKBOX_NAME,
        }
        return TemplateResponse(request, "admin/orgs/invitation/revoke.html", context)

    def _send_after_commit(self, request: HttpRequest, invitation: Invitation, token: str) -> None:
        """Send the link when it is stored: a message cannot be taken back, and a mail server may be slow."""
        url = build_public_url(request, f"{reverse('invitation')}?{urlencode({'token': token})}")

        def send() -> None:
            if not invitation_lifecycle.send(invitation, url):
                messages.error(request, _NOT_SENT.format(invitation.email))
            elif settings.RAG_EMAIL_URL.startswith("consolemail:"):
                log = settings.RAGSITE_DATA / "logs" / "web.log"
                messages.warning(request, _IN_THE_LOG.format(email=invitation.email, log=log))
            else:
                messages.success(request, gettext("The invitation was sent to {email}.").format(email=invitation.email))

        transaction.on_commit(send)
