"""Search in one scope: Qdrant finds candidates, PostgreSQL decides before and after which of them are permitted."""

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from django.db import connection

from rag.errors import IndexUnavailable
from rag.models import Document
from rag.providers.base import Vectors
from rag.providers.stores.pgvector.bm25_query import LexicalQuery
from rag.providers.stores.pgvector.search_arguments import SCOPE, scope_values
from rag.providers.stores.search_types import Candidate, Candidates
from rag.types import Mode, SearchScope
from rag.types.token_vectors import TokenVectors
from ragsite.http.bodies.json_types import JsonObject

from . import collection, token_vectors
from .client import CollectionMissing, ContentRefused, QdrantClient
from .confirm_found_points import Scores, confirm

_NOTHING = Candidates((), (), ())
_SOURCES = f"SELECT source_id, organization_id FROM rag_list_scope({SCOPE})"
# How many times the limit is fetched: at first, because some may be outdated, and at most, if many of them are, or have
# the same score as the last one.
_FIRST_FACTOR, _STEP, _LAST_FACTOR = 2, 4, 32
# How often the search is repeated, because points that it has found disappeared before they were confirmed.
_MAX_REPEATS = 3
# The candidates of the graph, of which the best are rescored.
_PARAMETERS = {"hnsw_ef": 256, "quantization": {"rescore": True, "oversampling": 2.0}}

# (distance, chunk id), the nearest first.
_Ranked = list[tuple[float, uuid.UUID]]


def find(
    client: QdrantClient,
    scope: SearchScope,
    vector: Vectors | None,
    query: LexicalQuery,
    *,
    query_tokens: TokenVectors | None = None,
    mode: Mode,
    limit: int,
) -> Candidates:
    """Find candidates with one request to Qdrant, rarely more.

    A document that was replaced in PostgreSQL, but not yet in Qdrant, is found by its old points. They stand for the
    chunks that it has now: those are compared in PostgreSQL. So each search finds the old version or the new one.

    Args:
        client: The client of the server.
        scope: The scope to search.
        vector: The query's vector, of length 1; None to search by words alone.
        query: The query's words.
        query_tokens: The query's token vectors, which the best candidates are compared with; None to leave it out.
        mode: How candidates are found.
        limit: The maximum number of chunks by vector, and by words.

    Raises:
        IndexUnavailable: If Qdrant does not answer, or has no collection for the scope's model.
    """
    sources = _permitted_sources(scope)
    by_vector = [_by_vector(vector)] if vector is not None and mode != Mode.LEXICAL else []
    by_words = [_by_words(query)] if query.vector is not None and mode != Mode.DENSE else []
    searches = [*by_vector, *by_words]
    if not sources or not searches:
        return _NOTHING
    restricted = {"filter": {"must": collection.conditions(list(sources), set(sources.values()), scope.filters)}}
    token_searches = token_vectors.searches(
        collection.name(scope.model_id), query_tokens, [search | restricted for search in searches], limit=limit
    )
    token_similarities: dict[uuid.UUID, tuple[float, ...]] = {}
    factor, repeats = _FIRST_FACTOR, 0
    while True:
        fetched = factor * limit
        shared = restricted | {"limit": fetched, "with_payload": False}
        results = _query(client, scope, sources, [search | shared for search in searches], token_searches)
        ids_by_search, token_scores = results[: len(searches)], results[len(searches) :]
        if query_tokens is not None and token_scores:
            token_similarities = token_vectors.similarities(query_tokens, token_scores)
        token_searches = []  # what only a repetition finds is rarely among the best
        confirmed = confirm(client, scope, vector, query, {pk for ids in ids_by_search for pk in ids})
        if confirmed.has_copied and repeats < _MAX_REPEATS:
            repeats += 1
            continue
        vector_distances, word_distances = _distances(confirmed.scores)
        distances = [*([vector_distances] if by_vector else []), *([word_distances] if by_words else [])]
        ids_with_distances = list(zip(ids_by_search, distances, strict=True))
        is_complete = all(
            len(ids) < fetched or _is_complete(_rank(ids, known), limit) for ids, known in ids_with_distances
        )
        if is_complete or factor >= _LAST_FACTOR:
            break
        factor *= _STEP
    rankings = [_rank({*ids, *confirmed.replacements}, known)[:limit] for ids, known in ids_with_distances]
    nearest_by_vector = rankings[0] if by_vector else []
    nearest_by_words = rankings[-1] if by_words else []
    return _build_candidates(nearest_by_vector, nearest_by_words, confirmed.scores, query, token_similarities)


def _permitted_sources(scope: SearchScope) -> dict[uuid.UUID, uuid.UUID]:
    """Return the scope's sources that the caller may query now, each with its organisation."""
    with connection.cursor() as cursor:
        cursor.execute(_SOURCES, scope_values(scope))
        return dict(cursor.fetchall())


def _by_vector(vector: Vectors) -> JsonObject:
    # Seven digits are what a 16-bit float needs at most; the request is half as long.
    values = np.asarray(vector, np.float64).round(7).tolist()
    return {"query": values, "using": collection.DENSE, "params": _PARAMETERS}


def _by_words(query: LexicalQuery) -> JsonObject:
    weights = query.weights
    return {
        "query": {"indices": list(weights), "values": list(weights.values())},
        "using": collection.WORDS,
    }


def _query(
    client: QdrantClient,
    scope: SearchScope,
    sources: Collection[uuid.UUID],
    searches: Sequence[JsonObject],
    token_searches: Sequence[JsonObject],
) -> list[dict[uuid.UUID, float]]:
    """Return the results of the searches, and of those by tokens if the collection has token vectors."""
    name = collection.name(scope.model_id)
    try:
        try:
            return client.query(name, [*searches, *token_searches])
        except ContentRefused:
            if not token_searches:
                raise
            token_vectors.remember_lacking(name)
            return client.query(name, searches)
    except CollectionMissing:
        # A model whose sources have no documents yet has no collection.
        if (
            not Document.objects.live()
            .filter(source__in=sources, source__embedding_model=scope.model_id, chunk_count__gt=0)
            .exists()
        ):
            return [{} for _ in searches]
        raise IndexUnavailable(
            "The search index (Qdrant) has no collection for this embedding model. The operator can copy the chunks "
            "with: manage.py move_vectors qdrant"
        ) from None


def _distances(scores: Scores) -> tuple[Mapping[uuid.UUID, float | None], Mapping[uuid.UUID, float | None]]:
    """Return the distance of each chunk by vector, and by words for chunks that contain a word of the query."""
    by_vector = {pk: distance for pk, (distance, _, _) in scores.items()}
    by_words = {pk: distance for pk, (_, distance, _) in scores.items() if distance != 0}
    return by_vector, by_words


def _rank(ids: Iterable[uuid.UUID], distances: Mapping[uuid.UUID, float | None]) -> _Ranked:
    """Return the chunks that PostgreSQL confirms with a distance, by distance and then by id."""
    pairs = ((distances.get(pk), pk) for pk in ids)
    return sorted((distance, pk) for distance, pk in pairs if distance is not None)


def _is_complete(ranking: _Ranked, limit: int) -> bool:
    """Return whether chunks beyond those that were fetched are worse than the last that is returned."""
    return len(ranking) > limit and ranking[-1][0] > ranking[limit - 1][0]


def _build_candidates(
    nearest_by_vector: _Ranked,
    nearest_by_words: _Ranked,
    scores: Scores,
    query: LexicalQuery,
    token_similarities: Mapping[uuid.UUID, tuple[float, ...]],
) -> Candidates:
    """Return the chunks of both rankings without duplicates, with the scores that PostgreSQL has computed.

    The similarities of tokens are Qdrant's.
    """
    dense_ids, lexical_ids = (tuple(pk for _, pk in ranking) for ranking in (nearest_by_vector, nearest_by_words))
    chunks = []
    for chunk_id in dict.fromkeys((*dense_ids, *lexical_ids)):
        distance, word_distance, terms = scores[chunk_id]
        chunks.append(
            Candidate(
                chunk_id,
                cosine=0.0 if distance is None else 1.0 - distance,
                lexical_score=-word_distance if word_distance else 0.0,
                coverage=query.coverage(terms or ()),
                token_similarities=token_similarities.get(chunk_id),
            )
        )
    return Candidates(tuple(chunks), dense_ids, lexical_ids)
