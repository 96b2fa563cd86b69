"""Creates accounts and data sources with the code of the version in whose folder it runs: python world.py URL [SOURCE].

Prints the API keys as JSON: of somebody who may write and read, of a reader, and of somebody who may not read. With the
name of a source, only creates this source.
"""

import importlib
import importlib.util
import json
import os
import sys

import django


def main(embeddings_url: str, *source: str) -> None:
    sys.path.insert(0, os.getcwd())
    from ragsite.postgres import identity

    identity.run_process_as(identity.WORKER)
    django.setup()
    from accounts.models import User
    from orgs.access.permissions import DEFAULT_ROLES, Scope, Visibility
    from orgs.models import Membership, Organization
    from rag.models import DataSource, EmbeddingModel

    # 0.1.0 has another name for the module.
    module = "key_lifecycle" if importlib.util.find_spec("orgs.api_keys.key_lifecycle") else "service"
    key_lifecycle = importlib.import_module(f"orgs.api_keys.{module}")
    keys = {}
    organizations = (
        {} if source else {"home": {"writer": "editor", "reader": "member"}, "abroad": {"stranger": "owner"}}
    )
    for slug, people in organizations.items():
        organization = Organization.objects.create(slug=slug, name=slug)
        for role, permissions in DEFAULT_ROLES.items():
            organization.roles.get_or_create(name=role, defaults={"permissions": permissions})
        for name, role in people.items():
            user = User.objects.create_user(f"{name}@upgrade.example", None)
            membership = Membership.objects.create(user=user, organization=organization)
            membership.roles.add(organization.roles.get(name=role))
            issued = key_lifecycle.issue(user=user, organization=organization, name=name, scopes=Scope.values)
            keys[name] = issued.secret
    defaults = {"provider": "openai", "dimensions": 384, "base_url": embeddings_url}
    model, _ = EmbeddingModel.objects.get_or_create(name="upgrade", defaults=defaults)
    for slug in source or ("shared", "written"):
        DataSource.objects.create(
            organization=Organization.objects.get(slug="home"),
            slug=slug,
            name=slug,
            visibility=Visibility.PUBLIC,
            embedding_model=model,
        )
    print(json.dumps(keys))


if __name__ == "__main__":
    main(*sys.argv[1:])
