"""The admin's pages of API keys: listed and revoked, never shown, created or changed."""

from django.utils import timezone

from orgs.models import ApiKey
from tests.orgs.admin.test_delegation import change, clerk, delete
from tests.support.browsers import staff_browser
from tests.support.factories import World


def test_keys_are_listed_and_revoked_but_never_shown_or_created(world: World) -> None:
    active, flagged, foreign = (
        world.key("editor", "query", name="n8n"), world.key("member"),
        world.key("foreigner", organization=world.abroad),
    )  # fmt: skip
    ApiKey.objects.filter(pk=flagged.key.pk).update(flagged_at=timezone.now())
    client = staff_browser(world.users["owner"])
    page, detail = "/admin/orgs/apikey/", f"/admin/orgs/apikey/{active.key.pk}/change/"
    text = client.get(page).content.decode() + client.get(detail).content.decode()
    for shown in (active.key.prefix, "n8n", world.users["editor"].email, "flagged", "active"):
        assert shown in text
    for hidden in (active.secret[11:], active.key.hash, foreign.key.prefix):
        assert hidden not in text
    assert client.get(page + "add/").status_code == 403
    assert client.post(detail, {"scopes": "manage"}).status_code == 403
    assert client.post(f"/admin/orgs/apikey/{active.key.pk}/delete/", {"post": "yes"}).status_code == 403
    ApiKey.objects.filter(pk=flagged.key.pk).update(name="\u202eflagged")  # must not reorder the words around it
    confirmation = client.post(page, {"action": "revoke", "_selected_action": [flagged.key.pk]}).content.decode()
    assert confirmation.count("\u202e") == confirmation.count("<bdi>\u202e") == 1
    action = {"action": "revoke", "confirmed": "yes", "_selected_action": [active.key.pk, foreign.key.pk]}
    assert client.post(page, action).status_code == 302
    assert list(ApiKey.objects.exclude(revoked_at=None)) == [active.key]
    assert "revoked" in client.get(page).content.decode()


def test_a_filter_tells_keys_for_all_organisations_from_keys_for_one(world: World) -> None:
    narrow, wide = world.key("editor").key, world.key("editor", all_organizations=True).key
    client = staff_browser(world.users["owner"])
    prefixes = {}
    for value in ("0", "1", "x"):
        page = client.get(f"/admin/orgs/apikey/?all_organizations={value}").content.decode()
        prefixes[value] = {key.prefix for key in (narrow, wide) if key.prefix in page}
    assert prefixes == {"0": {narrow.prefix}, "1": {wide.prefix}, "x": {narrow.prefix, wide.prefix}}


def test_query_parameters_cannot_filter_by_a_keys_hash(world: World) -> None:
    world.key("editor")
    client = staff_browser(world.users["owner"])
    for query in ("hash__startswith=a", "user__password__startswith=p"):
        assert client.get(f"/admin/orgs/apikey/?{query}").status_code in (302, 400)


def test_keys_of_others_are_revoked_but_not_changed(world: World) -> None:
    client, key = clerk(world), world.key("owner").key
    assert client.post(*change(key, name="x", scopes="query")).status_code == 403
    assert client.post(*delete(key)).status_code == 403
    values = {"action": "revoke", "confirmed": "yes", "_selected_action": [key.pk]}
    assert client.post("/admin/orgs/apikey/", values).status_code == 302
    assert ApiKey.objects.get(pk=key.pk).revoked_at
