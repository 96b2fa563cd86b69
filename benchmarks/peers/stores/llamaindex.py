"""LlamaIndex: PGVectorStore with an HNSW index of the parameters that its documentation shows."""

from collections.abc import Sequence
from typing import Any

from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import FilterOperator, MetadataFilter, MetadataFilters, VectorStoreQuery
from llama_index.embeddings.huggingface import HuggingFaceEmbedding
from llama_index.vector_stores.postgres import PGVectorStore
from transformers import AutoTokenizer

from benchmarks.peers.stores.base import CHUNK_TOKENS, DIMENSIONS, DOCUMENTS, PASSAGES, TOP_K, Place, batches

_BATCH = 1_000
_HNSW = {
    "hnsw_m": 16,
    "hnsw_ef_construction": 64,
    "hnsw_ef_search": 40,
    "hnsw_dist_method": "vector_cosine_ops",
}


class LlamaIndex:
    def __init__(self, place: Place) -> None:
        self._database = place.database
        self._embedding = HuggingFaceEmbedding(model_name=place.model)
        self._splitter = SentenceSplitter(
            chunk_size=CHUNK_TOKENS, chunk_overlap=0, tokenizer=AutoTokenizer.from_pretrained(place.model).tokenize
        )
        self._documents, self._passages = self._table(DOCUMENTS), self._table(PASSAGES)

    def _table(self, name: str) -> Any:
        return PGVectorStore.from_params(
            connection_string=f"postgresql+psycopg2://{self._database}",
            async_connection_string=f"postgresql+asyncpg://{self._database}",
            table_name=name,
            embed_dim=DIMENSIONS,
            hnsw_kwargs=_HNSW,
        )

    def ingest(self, documents: Sequence[dict[str, str]]) -> int:
        nodes = self._splitter.get_nodes_from_documents([Document(text=document["text"]) for document in documents])
        storage = StorageContext.from_defaults(vector_store=self._documents)
        VectorStoreIndex(nodes, storage_context=storage, embed_model=self._embedding)
        return len(nodes)

    def load(self, texts: Sequence[str], vectors: Any, sources: Sequence[str]) -> None:
        for numbers in batches(len(texts), _BATCH):
            self._passages.add(
                [
                    TextNode(
                        text=texts[number],
                        embedding=vectors[number].tolist(),
                        metadata={"source_id": sources[number]},
                    )
                    for number in numbers
                ]
            )

    def embed(self, question: str) -> list[float]:
        vector: list[float] = self._embedding.get_query_embedding(question)
        return vector

    def search(self, vector: list[float], sources: Sequence[str] | None) -> list[str]:
        scope = None
        if sources is not None:
            scope = MetadataFilters(
                filters=[MetadataFilter(key="source_id", value=list(sources), operator=FilterOperator.IN)]
            )
        query = VectorStoreQuery(query_embedding=vector, similarity_top_k=TOP_K, filters=scope)
        return [node.text for node in self._passages.query(query).nodes]
