from . import (
    calibration_admin,
    document_admin,
    embedding_model_admin,
    jobs,
    operations,
    organization_admin,
    sources,
    user_admin,
    webhooks,
)

__all__ = [
    "calibration_admin",
    "document_admin",
    "embedding_model_admin",
    "jobs",
    "operations",
    "organization_admin",
    "sources",
    "user_admin",
    "webhooks",
]
