"""Examples of webhooks in the OpenAPI document."""

NEW_WEBHOOK: dict[str, object] = {"url": "https://n8n.acme.example/webhook/ragsite", "events": ["job.failed"]}
WEBHOOK: dict[str, object] = {
    "id": "0198c5c0-7a10-7b1e-9c55-3f0d6c1b2a90",
    "organization": "acme",
    **NEW_WEBHOOK,
    "description": "",
    "isActive": True,
    "disabledReason": "",
    "skipped": 0,
    "lastSuccessAt": None,
    "createdAt": "2026-01-31T12:00:00Z",
    "updatedAt": "2026-01-31T12:00:00Z",
}
WEBHOOK_WITH_SECRET = {**WEBHOOK, "secret": "whsec_…"}
DELIVERY: dict[str, object] = {
    "id": "0198c5c0-7b22-7d3f-8a11-5e0c4d2b1f77",
    "event": "job.failed",
    "status": "delivered",
    "attempts": 1,
    "responseStatus": 204,
    "error": "",
    "payload": {
        "type": "job.failed",
        "timestamp": "2026-01-31T12:05:00.000+00:00",
        "data": {
            "jobId": "0198c5c0-6b1e-7d44-8f0b-2d9c1e5a7f20",
            "status": "failed",
            "dataSourceId": "0198c5c0-5d3a-7c5f-9d2e-3b1f0a7c4e11",
            "dataSource": "library",
            "total": 1,
            "done": 0,
            "failed": 1,
        },
    },
    "createdAt": "2026-01-31T12:05:00Z",
    "nextAttemptAt": None,
    "finishedAt": "2026-01-31T12:05:01Z",
}
