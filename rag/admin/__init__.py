from . import (
    calibration_admin,
    document_admin,
    embedding_model_admin,
    jobs,
    operations,
    organization_storage_admin,
    personal_data_admin,
    sources,
    webhooks,
)

__all__ = [
    "calibration_admin",
    "document_admin",
    "embedding_model_admin",
    "jobs",
    "operations",
    "organization_storage_admin",
    "personal_data_admin",
    "sources",
    "webhooks",
]
