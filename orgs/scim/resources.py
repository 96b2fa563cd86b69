"""Renders members and groups as SCIM resources, and describes the service (RFC 7643)."""

import hashlib
import json

from orgs.models import Membership, ScimGroup

from . import groups, users

LIST_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
_CONFIGURATION_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"
_TYPE_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:ResourceType"
_SCHEMA_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:Schema"
MAX_RESULTS = 200


def render_user(membership: Membership, base: str) -> dict[str, object]:
    """Render a member. `base`: the address of /scim/v2."""
    user = membership.user
    scim_user = getattr(membership, "scim_user", None)
    body: dict[str, object] = {
        "schemas": [users.SCHEMA],
        "id": str(membership.pk),
        **({"externalId": scim_user.external_id} if scim_user else {}),
        "userName": user.email,
        **({"name": {"formatted": user.name}, "displayName": user.name} if user.name else {}),
        "emails": [{"value": user.email, "type": "work", "primary": True}],
        "active": membership.is_active and user.is_active,
        "groups": [
            {"value": str(team.scim_group.pk), "display": team.scim_group.display_name, "type": "direct"}
            for team in membership.teams.all()
            if hasattr(team, "scim_group")
        ],
    }
    return _with_meta(body, "User", f"{base}/Users/{membership.pk}", membership.created_at.isoformat())


def render_group(group: ScimGroup, base: str) -> dict[str, object]:
    """Render a group. `base`: the address of /scim/v2."""
    member_ids = group.team.memberships.order_by("pk").values_list("pk", flat=True)
    body: dict[str, object] = {
        "schemas": [groups.SCHEMA],
        "id": str(group.pk),
        **({"externalId": group.external_id} if group.external_id else {}),
        "displayName": group.display_name,
        "members": [
            {"value": str(member_id), "type": "User", "$ref": f"{base}/Users/{member_id}"} for member_id in member_ids
        ],
    }
    return _with_meta(body, "Group", f"{base}/Groups/{group.pk}")


def _with_meta(body: dict[str, object], kind: str, location: str, created: str = "") -> dict[str, object]:
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:16]
    meta = {"resourceType": kind, "location": location, "version": f'W/"{digest}"'}
    return {**body, "meta": {**meta, **({"created": created} if created else {})}}


def configuration(base: str) -> dict[str, object]:
    """What the service supports."""
    unsupported = {"supported": False}
    return {
        "schemas": [_CONFIGURATION_SCHEMA],
        "patch": {"supported": True},
        "bulk": {**unsupported, "maxOperations": 0, "maxPayloadSize": 0},
        "filter": {"supported": True, "maxResults": MAX_RESULTS},
        "changePassword": unsupported,
        "sort": unsupported,
        "etag": {"supported": True},
        "authenticationSchemes": [
            {"type": "oauthbearertoken", "name": "SCIM token", "description": "One token of each organisation."}
        ],
        "meta": {"resourceType": "ServiceProviderConfig", "location": f"{base}/ServiceProviderConfig"},
    }


def resource_types(base: str) -> list[dict[str, object]]:
    """The two types of resources."""
    return [
        {
            "schemas": [_TYPE_SCHEMA],
            "id": name,
            "name": name,
            "endpoint": f"/{name}s",
            "schema": schema,
            "meta": {"resourceType": "ResourceType", "location": f"{base}/ResourceTypes/{name}"},
        }
        for name, schema in (("User", users.SCHEMA), ("Group", groups.SCHEMA))
    ]


def schemas(base: str) -> list[dict[str, object]]:
    """Return the schemas of users and groups, which list their attributes."""
    text = _attribute("value", "string")
    user = [
        _attribute("userName", "string", required=True, uniqueness="server"),
        _attribute("name", "complex", subAttributes=[_attribute("formatted", "string")]),
        _attribute("displayName", "string"),
        _attribute("active", "boolean", required=True),
        _attribute(
            "emails",
            "complex",
            multiValued=True,
            mutability="readOnly",
            subAttributes=[text, _attribute("type", "string"), _attribute("primary", "boolean")],
        ),
        _attribute(
            "groups",
            "complex",
            multiValued=True,
            mutability="readOnly",
            subAttributes=[text, _attribute("display", "string"), _attribute("type", "string")],
        ),
    ]
    member_parts = [text, _attribute("type", "string", canonicalValues=["User"])]
    member_parts.append(_attribute("$ref", "reference", referenceTypes=["User"]))
    group = [
        _attribute("displayName", "string", required=True),
        _attribute("members", "complex", multiValued=True, subAttributes=member_parts),
    ]
    return [
        {
            "schemas": [_SCHEMA_SCHEMA],
            "id": schema,
            "name": name,
            "description": name,
            "attributes": attributes,
            "meta": {"resourceType": "Schema", "location": f"{base}/Schemas/{schema}"},
        }
        for name, schema, attributes in (("User", users.SCHEMA, user), ("Group", groups.SCHEMA, group))
    ]


def _attribute(name: str, kind: str, **properties: object) -> dict[str, object]:
    return {
        "name": name,
        "type": kind,
        "multiValued": False,
        "description": name,
        "required": False,
        "caseExact": False,
        "mutability": "readWrite",
        "returned": "default",
        "uniqueness": "none",
        **properties,
    }
