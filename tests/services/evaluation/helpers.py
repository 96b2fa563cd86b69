"""Helpers of the tests of golden questions and quality."""

import numpy as np

from rag.models import DataSource, GoldenQuestion
from tests.support.servers.provider_server import ProviderServer

ANIMALS = ("zebra", "lion", "otter", "heron", "badger", "lynx", "stoat", "raven", "perch", "viper", "gecko", "moose")


class RandomVectorServer(ProviderServer):
    """A model whose vectors have nothing to do with the texts."""

    vector_count = 0

    def _vector(self, text: str) -> np.ndarray:
        self.vector_count += 1
        return np.random.default_rng(self.vector_count).standard_normal(self.dimensions)


def add_question(source: DataSource, question: str, path: str = "", passage: str = "") -> GoldenQuestion:
    return GoldenQuestion.objects.create(source=source, question=question, path=path, passage=passage)
