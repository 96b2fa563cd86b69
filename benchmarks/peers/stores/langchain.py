"""LangChain: PGVectorStore, which has taken the place of its PGVector, with an HNSW index."""

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_huggingface import HuggingFaceEmbeddings
from langchain_postgres import Column, PGEngine, PGVectorStore
from langchain_postgres.v2.indexes import HNSWIndex
from langchain_text_splitters import RecursiveCharacterTextSplitter
from transformers import AutoTokenizer

from benchmarks.peers.stores.base import CHUNK_TOKENS, DIMENSIONS, DOCUMENTS, PASSAGES, TOP_K, Place, batches

_BATCH = 1_000


class LangChain:
    def __init__(self, place: Place) -> None:
        self._engine = PGEngine.from_connection_string(url=f"postgresql+psycopg://{place.database}")
        self._embeddings = HuggingFaceEmbeddings(model_name=place.model)
        self._splitter = RecursiveCharacterTextSplitter.from_huggingface_tokenizer(
            AutoTokenizer.from_pretrained(place.model), chunk_size=CHUNK_TOKENS, chunk_overlap=0
        )
        self._documents, self._passages = self._table(DOCUMENTS), self._table(PASSAGES)
        self._documents.apply_vector_index(HNSWIndex(name="documents_index"))

    def _table(self, name: str) -> Any:
        self._engine.init_vectorstore_table(name, DIMENSIONS, metadata_columns=[Column("source_id", "TEXT")])
        return PGVectorStore.create_sync(
            self._engine, embedding_service=self._embeddings, table_name=name, metadata_columns=["source_id"]
        )

    def ingest(self, documents: Sequence[dict[str, str]]) -> int:
        chunks = self._splitter.split_documents(
            [Document(document["text"], metadata={"source_id": document["path"]}) for document in documents]
        )
        return len(self._documents.add_documents(chunks))

    def load(self, texts: Sequence[str], vectors: Any, sources: Sequence[str]) -> None:
        for numbers in batches(len(texts), _BATCH):
            self._passages.add_embeddings(
                [texts[number] for number in numbers],
                [vectors[number].tolist() for number in numbers],
                [{"source_id": sources[number]} for number in numbers],
            )
        self._passages.apply_vector_index(HNSWIndex(name="passages_index"))

    def embed(self, question: str) -> list[float]:
        vector: list[float] = self._embeddings.embed_query(question)
        return vector

    def search(self, vector: list[float], sources: Sequence[str] | None) -> list[str]:
        scope = {"source_id": {"$in": list(sources)}} if sources is not None else None
        documents = self._passages.similarity_search_by_vector(vector, k=TOP_K, filter=scope)
        return [document.page_content for document in documents]
