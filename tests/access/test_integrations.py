"""Integrations show each caller what the access rule allows: in random worlds, for every user and key."""

import pytest
from hypothesis import Phase, given, settings

from orgs.access.caller import Caller
from rag.errors import RagError
from rag.services.integrations import source_models
from ragsite.postgres import identity
from tests.access import oracle, proof
from tests.access.test_visible_to import rolled_back
from tests.access.worlds import build, worlds

pytestmark = pytest.mark.django_db
QUERY = "query"


@given(world=worlds())
@settings(max_examples=20, deadline=None, phases=set(Phase) - {Phase.explain})
def test_the_models_of_openais_api_are_the_sources_that_a_caller_may_query(world: oracle.World) -> None:
    with rolled_back():
        rows = build(world)
        for user, key, caller in rows.callers():
            if user is None:  # the contracts refuse anonymous requests
                continue
            allowed = {source.name for source in world.sources if oracle.is_allowed(world, user, source, QUERY, key)}
            with identity.run_as(caller.database_identity):
                listed = source_models.list_models(caller)
                visible = {model.source.pk for model in listed if model.source}
                assert visible == {rows.sources[name].pk for name in allowed}
                assert bool(listed) == bool(allowed)
                usable = {name for name, source in rows.sources.items() if is_usable(caller, str(source.pk))}
            assert usable == allowed
            proof.count("lists of models compared")


def is_usable(caller: Caller, reference: str) -> bool:
    try:
        source_models.select_sources(caller, f"ragsite/{reference}")
    except RagError:
        return False
    return True
