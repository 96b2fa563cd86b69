"""The Python client of ragsite: search, ask, send documents and watch jobs, with and without asyncio."""

from .async_client import AsyncClient
from .client import Client
from .errors import ConnectionFailed, NotAllowed, NotFound, RagsiteError, RateLimited, Unauthenticated
from .models import Answer, AnswerEvent, Citation, Document, Job, JobError, NewDocument, Passage, Source

__version__ = "0.1.0"
__all__ = [
    "Answer",
    "AnswerEvent",
    "AsyncClient",
    "Citation",
    "Client",
    "ConnectionFailed",
    "Document",
    "Job",
    "JobError",
    "NewDocument",
    "NotAllowed",
    "NotFound",
    "Passage",
    "RagsiteError",
    "RateLimited",
    "Source",
    "Unauthenticated",
]
