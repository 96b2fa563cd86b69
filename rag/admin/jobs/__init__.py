from . import job_admin, job_document_admin

__all__ = ["job_admin", "job_document_admin"]
