"""Bodies for the OpenAPI schema's examples."""

_JOB_ID = "0198c5c0-6b1e-7d44-8f0b-2d9c1e5a7f20"
_SOURCE_ID = "0198c5bf-90aa-7e21-b6a3-51d7f00c9a3b"
_DOCUMENT_ID = "0198c5c0-5d3a-7c5f-9d2e-3b1f0a7c4e11"
_CHUNK_ID = "0198c5c0-5d41-7a10-8c55-7e2b9f4d6c08"

JOB_REQUEST: dict[str, object] = {
    "dataSourceId": "office",
    "documents": [
        {"path": "notes/keys.md", "text": "# Keys\n\nThe desk in the hall has the spare keys.", "lang": "en"},
        {"path": "notes/bikes.md", "text": "# Bikes\n\nBikes are parked in the yard.", "tags": ["yard"]},
    ],
    "chunkSize": 512,
    "chunkOverlap": 50,
}
QUEUED_JOB: dict[str, object] = {
    "jobId": _JOB_ID,
    "status": "queued",
    "indexed": 0,
    "chunks": 0,
    "vectorIds": [],
    "vectorIdsTruncated": False,
    "progress": {"documents": 2, "done": 0, "failed": 0},
    "errors": [],
    "createdAt": "2026-01-31T12:00:00Z",
    "startedAt": None,
    "finishedAt": None,
}
DONE_JOB: dict[str, object] = {
    **QUEUED_JOB,
    "status": "completed",
    "indexed": 1,
    "chunks": 1,
    "vectorIds": [_CHUNK_ID],
    "progress": {"documents": 2, "done": 1, "failed": 1},
    "errors": [
        {
            "index": 1,
            "path": "notes/bikes.md",
            "code": "EMBEDDING_FAILED",
            "message": "The embedding model does not answer.",
        }
    ],
    "startedAt": "2026-01-31T12:00:01Z",
    "finishedAt": "2026-01-31T12:00:02Z",
}
CANCELLED_JOB: dict[str, object] = {**DONE_JOB, "status": "cancelled", "errors": []}
CANCELLED_JOB["progress"] = {"documents": 2, "done": 1, "failed": 0}
DOCUMENT: dict[str, object] = {
    "id": _DOCUMENT_ID,
    "path": "notes/keys.md",
    "title": "keys.md",
    "uri": None,
    "contentType": "text/markdown",
    "sourceType": "doc",
    "lang": "en",
    "tags": [],
    "date": None,
    "metadata": {},
    "chunks": 1,
    "bytes": 48,
    "createdAt": "2026-01-31T12:00:00Z",
    "updatedAt": "2026-01-31T12:00:00Z",
}
RETRIED_JOB: dict[str, object] = {
    **DONE_JOB,
    "status": "processing",
    "progress": {"documents": 2, "done": 1, "failed": 0},
    "errors": [],
    "finishedAt": None,
}
LISTED_JOB: dict[str, object] = {
    "dataSourceId": _SOURCE_ID,
    **{name: value for name, value in DONE_JOB.items() if name not in ("vectorIds", "vectorIdsTruncated", "errors")},
}
JOB_DOCUMENTS: list[dict[str, object]] = [
    {
        "index": 0,
        "path": "notes/keys.md",
        "status": "done",
        "condition": None,
        "stage": None,
        "attempts": 1,
        "error": None,
        "warning": None,
        "chunks": 1,
        "documentId": _DOCUMENT_ID,
        "timings": {"parsing": 4, "embedding": 52, "indexing": 9},
        "retryAt": None,
    },
    {
        "index": 1,
        "path": "notes/bikes.md",
        "status": "queued",
        "condition": "waiting",
        "stage": None,
        "attempts": 0,
        "error": {"code": "EMBEDDING_FAILED", "message": "The embedding model cannot be reached."},
        "warning": None,
        "chunks": 0,
        "documentId": None,
        "timings": {},
        "retryAt": "2026-01-31T12:00:12Z",
    },
]
SOURCE: dict[str, object] = {
    "id": _SOURCE_ID,
    "slug": "office",
    "name": "Office",
    "description": "",
    "organization": "acme",
    "visibility": "public",
    "sourceType": "doc",
    "embeddingModel": "all-MiniLM-L6-v2",
    "ocr": True,
    "createdAt": "2026-01-31T12:00:00Z",
    "updatedAt": "2026-01-31T12:00:00Z",
}
NEW_SOURCE: dict[str, object] = {"name": "Office", "visibility": "team", "teams": ["support"]}
MANAGED_SOURCE: dict[str, object] = {
    **SOURCE,
    "visibility": "team",
    "roles": [],
    "teams": ["support"],
    "users": [],
    "owner": "editor@acme.example",
}
ACCESS: dict[str, object] = {
    "dataSourceId": _SOURCE_ID,
    "user": "ada@acme.example",
    "access": [
        {
            "action": "query",
            "allowed": True,
            "reason": "May query: the source is open to team `support`, which ada@acme.example is in.",
        },
        {
            "action": "ingest",
            "allowed": False,
            "reason": "May not ingest: ada@acme.example holds no role that allows sending documents, and does not own "
            "the source.",
        },
        {
            "action": "manage",
            "allowed": False,
            "reason": "May not manage: ada@acme.example holds no role that allows managing data sources, and is not "
            "the owner of the source.",
        },
    ],
}
QUESTION: dict[str, object] = {
    "query": "Where are the spare keys?",
    "dataSources": ["office"],
    "topK": 3,
    "filters": [{"field": "lang", "value": "en"}],
}
RETRIEVAL: dict[str, object] = {
    "documents": [
        {
            "chunkId": _CHUNK_ID,
            "documentId": _DOCUMENT_ID,
            "dataSourceId": _SOURCE_ID,
            "title": "keys.md",
            "path": "notes/keys.md",
            "uri": None,
            "text": "The desk in the hall has the spare keys.",
            "score": 0.68,
            "chunkIndex": 0,
            "start": 8,
            "end": 48,
            "headings": ["Keys"],
            "sourceType": "doc",
            "lang": "en",
            "tags": [],
            "date": None,
            "metadata": {},
        }
    ],
    "scores": [0.68],
    "totalFound": 1,
    "dataSources": [_SOURCE_ID],
    "warnings": [],
}
_CITATION: dict[str, object] = {
    "number": 1,
    "chunkId": _CHUNK_ID,
    "documentId": _DOCUMENT_ID,
    "dataSourceId": _SOURCE_ID,
    "title": "keys.md",
    "path": "notes/keys.md",
    "uri": None,
    "quote": "The desk in the hall has the spare keys.",
    "score": 0.68,
    "start": 8,
    "end": 48,
    "page": None,
    "lastPage": None,
    "passageStart": 8,
    "passageEnd": 48,
}
ANSWER: dict[str, object] = {
    **RETRIEVAL,
    "prompt": "Passages from the sources, numbered:\n\n[1] keys.md › Keys\nThe desk in the hall …",
    "includedDocs": 1,
    "tokenCount": 75,
    "citations": [_CITATION],
    "isGroundable": True,
    "groundingScore": 0.98,
    "relevantDocs": RETRIEVAL["documents"],
    "gaps": [],
    "answer": "The desk in the hall has the spare keys. [1]",
    "citationsUsed": [_CITATION],
    "confidence": 0.98,
    "model": "extractive",
    "citationsDropped": 0,
    "unsupportedSentences": [],
}
EXPLAINED: dict[str, object] = {
    "isMember": True,
    "funnel": {
        "sources": 1,
        "chunks": 240,
        "byMeaning": 100,
        "byWords": 12,
        "candidates": 104,
        "aboveThreshold": 104,
        "distinct": 50,
        "ranked": 1,
        "grounded": 1,
    },
    "documents": [
        {
            "chunkId": _CHUNK_ID,
            "documentId": _DOCUMENT_ID,
            "dataSourceId": _SOURCE_ID,
            "title": "keys.md",
            "path": "keys.md",
            "text": "The spare keys are in the blue drawer.",
            "score": 0.71,
            "relevance": 0.83,
            "countsForAnswer": True,
        }
    ],
    "document": None,
    "isGroundable": True,
    "groundingScore": 0.9,
    "gaps": [],
    "dataSources": [_SOURCE_ID],
    "notSearched": [],
    "warnings": [],
}
