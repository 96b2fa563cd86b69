"""How long and how much is kept: inputs of jobs, searches, conversations, audit events."""

from ragsite.settings.env import env

# How long the input of failed documents is kept for a retry.
RAG_JOB_RETENTION_DAYS = env.int("RAG_JOB_RETENTION_DAYS", default=30)
# How long searches and conversations are kept, unless the organisation has its own period. 0: for ever.
RAG_HISTORY_RETENTION_DAYS = env.int("RAG_HISTORY_RETENTION_DAYS", default=90)
# How many bytes of searches and conversations one user may have. The oldest are deleted first.
RAG_MAX_HISTORY_BYTES = 50 * 1024 * 1024
# How long audit events are kept, at least 90 days. 0: for ever.
RAG_AUDIT_RETENTION_DAYS = env.int("RAG_AUDIT_RETENTION_DAYS", default=730)
