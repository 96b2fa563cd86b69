"""Webhooks: an organisation's events are stored with what causes them, and sent by a worker (decision 0053)."""
