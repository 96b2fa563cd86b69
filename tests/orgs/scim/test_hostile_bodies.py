"""Bodies, filters and paths of any shape: a directory gets a response or a refusal, never an error of the server.

`Directory.send` fails for a status of 500 and above.
"""

from typing import Any
from urllib.parse import quote

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.orgs.scim.conftest import Directory
from tests.support.factories import World

TEXTS = st.sampled_from(
    ["", "x", "\0", "\ud800", "emails", "value", "true", "a" * 5_000, "{", "%s", "members", "id"]
) | (st.text(max_size=20))
NUMBERS = st.sampled_from([0, -1, 10**400, 1e300, float("inf"), float("nan")])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(TEXTS, children, max_size=3),
    max_leaves=6,
)
ATTRIBUTES = st.sampled_from(
    ["userName", "name", "displayName", "emails", "externalId", "active", "members", "schemas"]
)
PATHS = st.sampled_from(
    [
        'emails[type eq "work"].value',
        'emails[value eq "\\ud800"]',
        "name.familyName",
        "members",
        'members[value eq "x"]',
        "urn:ietf:params:scim:schemas:core:2.0:User:name.givenName",
        "a.b.c.d",
        "[",
        "emails[",
        'emails[x eq "y"].z[w eq "v"]',
        "id",
        "meta.created",
    ]
)
FILTERS = st.sampled_from(
    [
        "userName eq",
        'userName eq "x" and ' * 50 + 'userName eq "x"',
        'id eq "x"',
        'active eq "x"',
        "userName eq true",
        'active co "t"',
        'meta.created gt "2020"',
        "((((",
        'userName eq "\\',
        "userName pr",
        'name.formatted ew "%_"',
        'externalId eq "' + "x" * 1_900 + '"',
        'userName eq "' + "\\\\" * 900,
    ]
)
OPERATIONS = st.fixed_dictionaries(
    {},
    optional={
        "op": st.sampled_from(["add", "replace", "remove", "Add"]) | VALUES,
        "path": PATHS | VALUES,
        "value": VALUES,
    },
)
CHEAP = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])


@CHEAP
@given(values=st.dictionaries(ATTRIBUTES, VALUES, max_size=4))
def test_resources(directory: Directory, world: World, values: dict[str, Any]) -> None:
    member = world.users["editor"].memberships.get().pk
    for kind in ("User", "Group"):
        directory.send("POST", f"/{kind}s", values)
    directory.send("PUT", f"/Users/{member}", {"userName": "editor@home.example", **values})


@CHEAP
@given(operations=st.lists(OPERATIONS, max_size=3) | VALUES)
def test_patches(directory: Directory, world: World, operations: Any) -> None:
    body = {"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], "Operations": operations}
    directory.send("PATCH", f"/Users/{world.users['editor'].memberships.get().pk}", body)
    directory.send("PATCH", f"/Groups/{world.home.teams.get(name='support').pk}", body)


@CHEAP
@given(text=FILTERS | st.text(max_size=40))
def test_filters(directory: Directory, world: World, text: str) -> None:
    for kind in ("Users", "Groups"):
        directory.send("GET", f"/{kind}?filter={quote(text.encode(errors='surrogatepass'))}")


def test_very_deep_and_large_bodies_are_refused(directory: Directory, world: World) -> None:
    member = world.users["editor"].memberships.get().pk
    deep = '{"userName":' + "[" * 100_000 + "]" * 100_000 + "}"
    many = '{"Operations":[' + ",".join(['{"op":"add","path":"emails","value":[]}'] * 20_000) + "]}"
    for method, path in (("POST", "/Users"), ("PUT", f"/Users/{member}"), ("PATCH", f"/Users/{member}")):
        assert directory.send(method, path, deep).status_code == 400
    assert directory.send("PATCH", f"/Users/{member}", many).status_code in (400, 413)
