"""A directory activates only the accounts that it has deactivated itself."""

from accounts.models import User
from orgs.creation import add_member
from orgs.models import Membership, SignInDomain
from tests.orgs.scim.conftest import Directory, connect
from tests.support.factories import World

ACTIVATE = {"op": "replace", "path": "active", "value": True}
DEACTIVATE = {"op": "replace", "path": "active", "value": False}


def suspend(user: User, *, is_active: bool = False) -> None:
    """Do what a superuser does on the account's page."""
    stored = User.objects.get(pk=user.pk)
    stored.is_active = is_active
    stored.save()


def is_active(user: User) -> bool:
    return User.objects.get(pk=user.pk).is_active


def test_a_directory_does_not_activate_a_suspended_member(directory: Directory, world: World) -> None:
    user = world.users["editor"]
    membership = user.memberships.get()
    path = f"/Users/{membership.pk}"
    suspend(user)
    replies = (
        directory.send("PUT", path, {"userName": user.email, "active": True}),
        directory.patch(path, ACTIVATE),
        directory.patch(path, {"op": "replace", "path": "displayName", "value": "Eddi"}),
    )
    assert [(reply.status_code, reply.json()["active"], is_active(user)) for reply in replies] == [
        (200, False, False)
    ] * 3
    membership.refresh_from_db()
    assert membership.is_active, "a change of the name leaves the membership"
    # What the directory says counts when the superuser activates the account.
    assert directory.patch(path, DEACTIVATE, ACTIVATE, DEACTIVATE).status_code == 200
    membership.refresh_from_db()
    assert not membership.is_active
    assert directory.patch(path, ACTIVATE).json()["active"] is False
    suspend(user, is_active=True)
    assert directory.get(path)["active"] is True


def test_a_directory_does_not_activate_a_suspended_account_of_nobody(directory: Directory) -> None:
    for name, chosen in (("ada", True), ("grace", False)):
        user = User.objects.create_user(f"{name}@home.example", is_active=False)
        created = directory.create("User", userName=user.email, active=chosen)
        assert (created["active"], is_active(user)) == (False, False)
        assert Membership.objects.get(user=user).is_active is chosen
        assert directory.send("DELETE", f"/Users/{created['id']}").status_code == 204
        assert directory.create("User", userName=user.email)["active"] is False


def test_a_superuser_has_the_last_word(directory: Directory, world: World) -> None:
    user = world.users["editor"]
    path = f"/Users/{user.memberships.get().pk}"
    assert directory.patch(path, DEACTIVATE).json()["active"] is False
    assert directory.patch(path, ACTIVATE).json()["active"] is True, "it may undo what it did"
    assert directory.patch(path, DEACTIVATE).json()["active"] is False
    User.objects.filter(pk=user.pk).update(is_active=True)
    suspend(user)
    assert directory.patch(path, ACTIVATE).json()["active"] is False
    assert not is_active(user)


def test_another_directory_does_not_undo_a_deactivation(directory: Directory, world: World) -> None:
    user = world.users["editor"]
    assert directory.patch(f"/Users/{user.memberships.get().pk}", DEACTIVATE).json()["active"] is False
    SignInDomain.objects.all().delete()
    other = connect(world.abroad, "home.example")
    membership = add_member(user=user, organization=world.abroad)
    assert other.patch(f"/Users/{membership.pk}", ACTIVATE).json()["active"] is False
    assert not is_active(user)
