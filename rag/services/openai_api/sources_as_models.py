"""Data sources as the models of OpenAI's API: `ragsite` is all that the caller may query, `ragsite/<source>` is one."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from orgs.access.caller import Caller
from orgs.models import Organization
from rag.errors import UnknownModel, UnknownSource
from rag.models import Action, DataSource
from rag.services.queries.source_selection import SourceSelection
from rag.services.sources import lookup

ALL_SOURCES = "ragsite"
# A list shows at most this many data sources. All of them can be used by their id or slug.
MAX_LISTED_MODELS = 1_000


@dataclass(frozen=True, slots=True)
class SourceModel:
    """A data source, or all of them, as a model of OpenAI's API.

    Attributes:
        id: What requests give as their `model`.
        name: A name for people.
        source: The data source; None for all that the caller may query.
    """

    id: str
    name: str
    source: DataSource | None = None


def list_models(caller: Caller, *, organization: Organization | None = None) -> Sequence[SourceModel]:
    """Return the models that the caller may use: none, if there is no data source that they may query."""
    visible = lookup.visible_sources(caller, Action.QUERY, organization=organization)
    sources = list(visible.select_related("organization").order_by("slug", "pk")[:MAX_LISTED_MODELS])
    slugs = Counter(source.slug for source in sources)
    models = [
        SourceModel(f"{ALL_SOURCES}/{source.slug if slugs[source.slug] == 1 else source.pk}", source.name, source)
        for source in sources
    ]
    return [SourceModel(ALL_SOURCES, "All data sources"), *models] if models else []


def get_model(caller: Caller, model_id: str, *, organization: Organization | None = None) -> SourceModel:
    """Return the model with this id. A data source may be named by its id or slug.

    Raises:
        UnknownModel: If there is no such model, or the caller may not query its data source.
        InvalidRequest: If data sources of several organisations have this slug.
    """
    visible = lookup.visible_sources(caller, Action.QUERY, organization=organization)
    prefix, separator, reference = model_id.partition("/")
    if prefix != ALL_SOURCES or (separator and not reference):
        raise UnknownModel
    if not separator:
        if not visible.exists():
            raise UnknownModel
        return SourceModel(ALL_SOURCES, "All data sources")
    try:
        source = lookup.get_source(visible, reference)
    except UnknownSource:
        raise UnknownModel from None
    return SourceModel(model_id, source.name, source)


def select_sources(caller: Caller, model_id: str, *, organization: Organization | None = None) -> SourceSelection:
    """Return what a request with this model searches.

    Raises:
        UnknownModel: If `get_model` raises it.
        InvalidRequest: If `get_model` raises it.
    """
    source = get_model(caller, model_id, organization=organization).source
    references = (str(source.pk),) if source else ()
    return SourceSelection(caller=caller, organization=organization, data_sources=references)
