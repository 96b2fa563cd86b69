"""The work of a PATCH grows with its size, and is bounded."""

from typing import Any

import pytest

from orgs.scim import patches
from orgs.scim.errors import ScimError
from tests.orgs.scim.conftest import Directory


class _Member(dict[str, Any]):
    """A member that counts how often it is compared with another one, or its attributes are looked at."""

    compared = read = 0

    def __eq__(self, other: object) -> bool:
        _Member.compared += 1
        return super().__eq__(other)

    def get(self, *arguments: Any) -> Any:
        _Member.read += 1
        return super().get(*arguments)


@pytest.fixture(autouse=True)
def lower_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of both limits: what is refused and what is not stays the same."""
    monkeypatch.setattr(patches, "MAX_ELEMENTS", patches.MAX_ELEMENTS // 10)
    monkeypatch.setattr(patches, "MAX_WORK", patches.MAX_WORK // 10)


def members(count: int) -> list[Any]:
    return [_Member(value=str(number)) for number in range(count)]


def change(count: int, *operations: dict[str, Any]) -> Any:
    """Apply the operations to a group with so many members."""
    _Member.compared = _Member.read = 0
    return patches.apply({"members": members(count)}, {"Operations": list(operations)})


def scim_type_of_error(count: int, *operations: dict[str, Any]) -> str:
    with pytest.raises(ScimError) as refused:
        change(count, *operations)
    return refused.value.scim_type


def test_removing_members_compares_each_of_them_once() -> None:
    left = change(1_000, {"op": "remove", "path": 'members[value ne "7"]'})
    assert ([item["value"] for item in left["members"]], _Member.compared, _Member.read) == (["7"], 0, 1_000)
    assert change(1_000, {"op": "remove", "path": "members", "value": members(1_000)})["members"] == []
    assert _Member.read == 2_000


def test_the_work_of_a_request_is_bounded() -> None:
    add = {"op": "add", "path": "members", "value": members(patches.MAX_ELEMENTS)}
    comparisons = " and ".join(['a ne "x"'] * 11)
    assert (
        scim_type_of_error(1, {"op": "replace", "path": f"members[{comparisons}].display", "value": "x"})
        == "invalidFilter"
    )
    condition = " and ".join(['a ne "x"'] * 10)
    expensive = {"op": "replace", "path": f"members[{condition}].display", "value": "x"}
    assert scim_type_of_error(0, add, *[expensive] * 20) == "tooMany"
    assert _Member.read <= patches.MAX_WORK
    assert (
        scim_type_of_error(0, add, {**add, "value": [{"value": "one more"}]}, {"op": "remove", "path": "members"})
        == "tooMany"
    )
    assert (
        scim_type_of_error(0, {"op": "add", "value": {f"a{number}": 1 for number in range(patches.MAX_ELEMENTS)}})
        == "tooMany"
    )
    assert scim_type_of_error(0, add, *[{"op": "add", "path": "members", "value": []}] * 120) == "tooMany"
    assert scim_type_of_error(1, {"op": "remove", "path": "members", "value": ["x" * 3_000]}) == "invalidValue"
    assert scim_type_of_error(1, {"op": "remove", "path": "members", "value": [[["x"]]]}) == "invalidValue"
    # A long list may still be changed in the ways of Okta and Entra ID.
    remove = [{"op": "remove", "path": f'members[value eq "{number}"]'} for number in range(20)]
    assert len(change(patches.MAX_ELEMENTS, *remove)["members"]) == patches.MAX_ELEMENTS - 20


def test_a_group_refuses_work_that_is_too_much(directory: Directory) -> None:
    group = directory.create("Group", displayName="Sales")
    invented = [{"value": f"m{number}"} for number in range(patches.MAX_ELEMENTS)]
    condition = " and ".join(['a ne "x"'] * 10)
    expensive = {"op": "replace", "path": f"members[{condition}].display", "value": "x"}
    add = {"op": "add", "path": "members", "value": invented}
    reply = directory.patch(f"/Groups/{group['id']}", add, *[expensive] * 20)
    assert (reply.status_code, reply.json()["scimType"]) == (400, "tooMany")
