"""Questions, and the scopes that they search."""

import enum
import uuid
from dataclasses import dataclass, field

from .filters import NO_FILTERS, Filters

# Bounded, because a question is embedded while the client waits.
MAX_QUESTION_CHARACTERS = 2_000


class Mode(enum.StrEnum):
    """The retrieval mode: by embeddings (dense), by terms (lexical), or by both (hybrid)."""

    DENSE = "dense"
    LEXICAL = "lexical"
    HYBRID = "hybrid"


@dataclass(frozen=True, slots=True)
class Question:
    """A query and its options.

    Attributes:
        top_k: The maximum number of passages to return.
        min_score: Minimum cosine similarity of a passage, 0…1.
        rerank: Whether to rerank the best candidates.
        rerank_model: The name of the reranker; if it fails, the search fails. Empty for the configured reranker, whose
            failure is only a warning.
        mode: The retrieval mode; None for the configured one (RAG_RETRIEVAL_MODE).
        deduplicate: Return only the best of several copies of a passage. Has no effect in dense mode.
        names_sources: Whether the result names the sources that were searched, which takes time if they are many.
        is_corrected: Whether misspelled words of `text` were replaced; None if nobody has looked for them yet.
    """

    text: str
    top_k: int
    filters: Filters = NO_FILTERS
    min_score: float = 0.0
    rerank: bool = False
    rerank_model: str = ""
    mode: Mode | None = None
    deduplicate: bool = False
    names_sources: bool = False
    is_corrected: bool | None = None


class ModelUse(enum.StrEnum):
    """Which public sources of an organisation are searched with an embedding model."""

    OWN = "own"  # those whose embedding model it is
    OWN_WITHOUT_SECOND = "own_without_second"  # those of them that have no complete vectors of a second model
    SECOND = "second"  # those with complete vectors of it as their second model
    OWN_OR_SECOND = "own_or_second"


@dataclass(frozen=True, slots=True)
class MemberGrants:
    """What gives a member access to sources that are not public: grants to the user, roles and teams, and ownership.

    Attributes:
        user_id: The member.
        role_ids: The member's roles.
        team_ids: The teams that the member has joined, and all teams that contain them.
        organization_ids: The organisations in which the user is an active member.
    """

    user_id: uuid.UUID
    role_ids: tuple[uuid.UUID, ...]
    team_ids: tuple[uuid.UUID, ...]
    organization_ids: tuple[uuid.UUID, ...]


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The chunks that a search may read: those of the given sources that match the filters.

    Public sources are given by their organisations, and many granted sources by the member who has the grants, so that
    the size of a scope does not depend on their number.

    Attributes:
        source_ids: Sources that the caller may query. All of them use the same embedding model.
        model_id: Primary key of that embedding model.
        public_in: Organisations whose public sources the caller may query. Those that use the model in the way
            of `model_use` are in the scope.
        grants: Who has the grants of further sources. Those that use the model in this way are in the scope. None if
            these sources are listed.
        second_of: Primary keys of the models of sources that may have the model as their second one.
        organization_ids: The organisations of all sources, for measurements and read replicas.
        model_version: The version of the model's row; empty if it is not known.
        lacks_language: Whether the question is not English and the sources do not have all vectors of a multilingual
            model yet. They are found by the words of the question.
    """

    source_ids: tuple[uuid.UUID, ...]
    model_id: uuid.UUID
    filters: Filters = NO_FILTERS
    public_in: tuple[uuid.UUID, ...] = ()
    model_use: ModelUse = ModelUse.OWN
    second_of: tuple[uuid.UUID, ...] = ()
    grants: MemberGrants | None = None
    organization_ids: tuple[uuid.UUID, ...] = field(default=(), compare=False)
    model_version: str = field(default="", compare=False)
    lacks_language: bool = field(default=False, compare=False)
