"""Synthetic chunks in clusters: each cluster is about a sentence of the documentation, which is also its question."""

import json
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.support import corpus

CLUSTERS, DIMENSIONS, SOURCES = 2_000, 384, 5_000
# The first half of the sources is about one cluster each, and none about the second half of the clusters. The other
# sources have chunks of all clusters.
TOPICAL = SOURCES // 2
_SPREAD, _VOCABULARY, _WORDS = 0.6, 50_000, (40, 60)
_BATCH, _CHUNKS_PER_DOCUMENT = 5_000, 10


class SyntheticChunks:
    """The same chunks whenever they are computed. Their order is random, as if all sources were filled at once.

    Attributes:
        source_of: The number of each chunk's source.
        document_of: The number of each chunk's document. Chunks of a document follow each other.
        age_of_document: A number of each document, uniform between 0 and 1, for filters by date.
    """

    def __init__(self, count: int, folder: Path) -> None:
        self.count, self._folder = count, folder
        random = np.random.default_rng(1)
        per_source = count // SOURCES
        per_document = min(_CHUNKS_PER_DOCUMENT, per_source)
        documents = np.repeat(np.arange(SOURCES), per_source // per_document)
        random.shuffle(documents)
        self.source_of_document = documents
        self.document_of = np.repeat(np.arange(len(documents)), per_document)
        self.source_of = documents[self.document_of]
        self.age_of_document = random.random(len(documents))
        topics = self.source_of * (CLUSTERS // 2) // TOPICAL
        self._clusters = np.where(self.source_of < TOPICAL, topics, random.integers(0, CLUSTERS, count))

    @cached_property
    def questions(self) -> list[str]:
        """The beginning of each cluster's sentence, of eight words."""
        return [" ".join(sentence.split()[:8]) for sentence in self._sentences]

    @cached_property
    def question_vectors(self) -> NDArray[np.float32]:
        return self._embedded("questions", self.questions)

    @cached_property
    def other_questions(self) -> list[str]:
        """Questions about subjects that no chunk is about: coffee machines, leases, bread."""
        files = sorted((corpus.ROOT / "benchmarks/eval/own/answers").glob("[!h]*/questions.jsonl"))
        files += sorted((corpus.ROOT / "benchmarks/eval/own/answers/held-out").glob("questions.jsonl"))
        return [json.loads(line)["question"] for file in files for line in file.read_text().splitlines()]

    @cached_property
    def other_vectors(self) -> NDArray[np.float32]:
        return self._embedded("other_questions", self.other_questions)

    @cached_property
    def _sentences(self) -> list[str]:
        texts = " ".join(document["text"] for document in corpus.documents(limit=5_000))
        sentences = [" ".join(part.split()[:30]) for part in re.split(r"(?<=[.?!:|])\s", texts)]
        distinct = [one for one in dict.fromkeys(sentences) if len(re.findall(r"[a-z]{3,}", one)) >= 8]
        return distinct[:CLUSTERS]

    def _embedded(self, name: str, texts: list[str]) -> NDArray[np.float32]:
        file = self._folder / f"{name}.npy"
        if not file.exists():
            from rag.models import EmbeddingModel
            from rag.pipeline.embed_documents import embed_texts

            model = EmbeddingModel.objects.default()
            np.save(file, embed_texts(texts, len(texts), model=model, on_batch=lambda _: None).vectors)
        return np.asarray(np.load(file), np.float32)

    @cached_property
    def vectors(self) -> NDArray[np.float16]:
        """The vectors of all chunks: the embedding of their cluster's sentence, with noise."""
        random = np.random.default_rng(2)
        centres = self._embedded("centres", self._sentences)
        vectors = np.empty((self.count, DIMENSIONS), np.float16)
        for start in range(0, self.count, _BATCH):
            chunk_centres = centres[self._clusters[start : start + _BATCH]]
            noise = random.standard_normal(chunk_centres.shape, np.float32) * (_SPREAD / DIMENSIONS**0.5)
            noisy = chunk_centres + noise
            vectors[start : start + _BATCH] = noisy / np.linalg.norm(noisy, axis=1, keepdims=True)
        return vectors

    @cached_property
    def vocabulary(self) -> list[str]:
        """The words of the documentation, most frequent first, then pairs of them."""
        text = " ".join(document["text"] for document in corpus.documents(limit=5_000)).lower()
        words, counts = np.unique(re.findall(r"[a-z]+", text), return_counts=True)
        ranked = [str(word) for word in words[np.argsort(-counts, kind="stable")]]
        pairs = (first + second for first in ranked[200:] for second in ranked[200:220])
        return list(dict.fromkeys([*ranked, *pairs]))[:_VOCABULARY]

    def words(self) -> Iterator[list[NDArray[np.int64]]]:
        """The words of each chunk, as places in the vocabulary, in batches. Their frequencies follow Zipf's law."""
        random = np.random.default_rng(3)
        weights = np.cumsum(1 / (np.arange(len(self.vocabulary)) + 2.7))
        for start in range(0, self.count, _BATCH):
            lengths = random.integers(*_WORDS, min(_BATCH, self.count - start))
            places = np.searchsorted(weights, random.random(int(lengths.sum())) * weights[-1])
            yield np.split(places, np.cumsum(lengths)[:-1])
