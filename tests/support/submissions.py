"""Jobs of small texts, as services submit them."""

from typing import Any

from rag.models import DataSource, IngestionJob
from rag.services.ingestion import build_submissions
from rag.services.jobs.create_job import create_job
from rag.types import ChunkingOptions, Submission

from .factories import World

# Path -> text of three documents.
TEXTS = {"a": "Alpha.", "b": "Beta.", "c": "Gamma."}


def submit(
    world: World, source: DataSource, texts: dict[str, str], *, options: ChunkingOptions | None = None, **fields: Any
) -> IngestionJob:
    """Create a job of the texts; fields are those of each Submission."""
    values = {"title": "T", **fields}
    return create_job(
        source=source,
        submissions=[Submission(path=path, text=text, **values) for path, text in texts.items()],
        options=options or build_submissions.default_chunking_options(),
        actor=world.users["editor"],
    )


def outcomes(job: IngestionJob) -> dict[str, str]:
    """Return the outcome of each path."""
    return dict(job.documents.values_list("path", "outcome"))
