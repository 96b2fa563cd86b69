"""Directories send several requests at once: none undoes another one."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import pytest
from django.db import connection, transaction

from accounts.models import User
from orgs.models import Membership
from orgs.scim import patches
from tests.orgs.scim.conftest import Directory, connect
from tests.support.factories import World

Send = Callable[..., "Future[Any]"]


@pytest.fixture
def directory(live_world: World) -> Directory:
    return connect(live_world.home, "home.example")


@pytest.fixture
def in_thread(directory: Directory) -> Iterator[Send]:
    """Send a request in a thread. Its result is the response."""

    def send(method: str, path: str, body: Any = None) -> Any:
        try:
            return directory.send(method, path, body)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        yield lambda *arguments: pool.submit(send, *arguments)


def add(member: Any) -> dict[str, Any]:
    return {"Operations": [{"op": "add", "path": "members", "value": [{"value": member["id"]}]}]}


def test_members_that_are_added_at_once(directory: Directory, in_thread: Send, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second PATCH wrote the members that it had read before the first one."""
    first, second = (directory.create("User", userName=f"{name}@home.example") for name in ("ada", "bob"))
    path = f"/Groups/{directory.create('Group', displayName='Sales')['id']}"
    sent = send_before_writing(monkeypatch, lambda: in_thread("PATCH", path, add(second)))
    assert directory.send("PATCH", path, add(first)).status_code == 200
    assert [request.result().status_code for request in sent] == [200]
    assert {member["value"] for member in directory.get(path)["members"]} == {first["id"], second["id"]}


def test_a_new_name_does_not_activate_somebody_again(
    directory: Directory, in_thread: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/Users/{directory.create('User', userName='ada@home.example')['id']}"
    deactivation = {"Operations": [{"op": "replace", "path": "active", "value": False}]}
    sent = send_before_writing(monkeypatch, lambda: in_thread("PATCH", path, deactivation))
    name = {"op": "replace", "path": "displayName", "value": "Ada"}
    assert directory.patch(path, name).status_code == 200
    assert [request.result().status_code for request in sent] == [200]
    user = directory.get(path)
    assert (user["active"], user["displayName"]) == (False, "Ada")


def test_two_changes_of_one_version(directory: Directory, in_thread: Send, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only one of the changes that name the same version in If-Match is made."""
    user = directory.create("User", userName="ada@home.example")
    path, version = f"/Users/{user['id']}", user["meta"]["version"]
    name = {"op": "replace", "path": "displayName", "value": "Ada"}
    sent = send_before_writing(monkeypatch, lambda: in_thread("PUT", path, {"userName": "eve@home.example"}))
    assert directory.patch(path, name, **{"If-Match": version}).status_code == 200
    assert sent[0].result().status_code == 200
    assert directory.patch(path, name, **{"If-Match": version}).status_code == 412
    assert directory.get(path)["userName"] == "eve@home.example", "it was written last"


@pytest.mark.parametrize("kind", ["User", "Group"])
def test_a_resource_is_deleted_twice(directory: Directory, in_thread: Send, kind: str) -> None:
    values = {"userName": "ada@home.example"} if kind == "User" else {"displayName": "Sales"}
    path = f"/{kind}s/{directory.create(kind, **values)['id']}"
    with transaction.atomic():
        assert directory.send("DELETE", path).status_code == 204
        second = in_thread("DELETE", path)
        assert not wait([second], timeout=0.5).done
    assert second.result().status_code == 404


def test_a_member_who_is_removed_meanwhile(directory: Directory, in_thread: Send) -> None:
    user = directory.create("User", userName="ada@home.example")
    path = f"/Groups/{directory.create('Group', displayName='Sales')['id']}"
    with transaction.atomic():
        assert directory.send("DELETE", f"/Users/{user['id']}").status_code == 204
        addition = in_thread("PATCH", path, add(user))
        assert not wait([addition], timeout=0.5).done
    assert addition.result().status_code == 400
    assert not Membership.objects.filter(pk=user["id"]).exists()


def test_a_user_who_becomes_a_member_meanwhile(live_world: World, in_thread: Send) -> None:
    """For example by signing in for the first time."""
    user = User.objects.create_user("ada@home.example")
    with transaction.atomic():
        Membership.objects.create(user=user, organization=live_world.home)
        creation = in_thread("POST", "/Users", {"userName": user.email})
        assert not wait([creation], timeout=0.5).done
    assert creation.result().status_code == 409


def send_before_writing(monkeypatch: pytest.MonkeyPatch, send: Callable[[], "Future[Any]"]) -> list["Future[Any]"]:
    """Send another request while the next PATCH has read its resource and has not written it yet."""
    apply, sent = patches.apply, list["Future[Any]"]()

    def send_and_apply(resource: dict[str, Any], body: Any) -> dict[str, Any]:
        if not sent:
            sent.append(send())
            wait(sent, timeout=0.5)
        return apply(resource, body)

    monkeypatch.setattr(patches, "apply", send_and_apply)
    return sent
