"""Chroma in this process, with its data in a folder. It has no splitter, so LangChain's splits the documents."""

import uuid
from collections.abc import Sequence
from typing import Any

import chromadb
from chromadb.utils.embedding_functions import SentenceTransformerEmbeddingFunction
from langchain_text_splitters import RecursiveCharacterTextSplitter
from transformers import AutoTokenizer

from benchmarks.peers.stores.base import CHUNK_TOKENS, DOCUMENTS, PASSAGES, TOP_K, Place, batches

_BATCH = 1_000


class Chroma:
    def __init__(self, place: Place) -> None:
        settings = chromadb.Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(str(place.folder / "chroma"), settings)
        self._embedding: Any = SentenceTransformerEmbeddingFunction(model_name=place.model)
        self._splitter = RecursiveCharacterTextSplitter.from_huggingface_tokenizer(
            AutoTokenizer.from_pretrained(place.model), chunk_size=CHUNK_TOKENS, chunk_overlap=0
        )
        self._documents, self._passages = (
            client.create_collection(name, embedding_function=self._embedding) for name in (DOCUMENTS, PASSAGES)
        )

    def ingest(self, documents: Sequence[dict[str, str]]) -> int:
        chunks = [chunk for document in documents for chunk in self._splitter.split_text(document["text"])]
        self._documents.add(ids=[str(uuid.uuid4()) for _ in chunks], documents=chunks)
        return len(chunks)

    def load(self, texts: Sequence[str], vectors: Any, sources: Sequence[str]) -> None:
        for numbers in batches(len(texts), _BATCH):
            self._passages.add(
                ids=[str(number) for number in numbers],
                embeddings=[vectors[number] for number in numbers],
                documents=[texts[number] for number in numbers],
                metadatas=[{"source_id": sources[number]} for number in numbers],
            )

    def embed(self, question: str) -> list[float]:
        vector: list[float] = self._embedding([question])[0].tolist()
        return vector

    def search(self, vector: list[float], sources: Sequence[str] | None) -> list[str]:
        scope: Any = {"source_id": {"$in": list(sources)}} if sources is not None else None
        results = self._passages.query(query_embeddings=[vector], n_results=TOP_K, where=scope, include=["documents"])
        return list((results["documents"] or [[]])[0])
