"""Limits of uploads, and where files are stored."""

from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from ragsite.settings.env import DATA_DIR, env

from .ingestion import RAG_MAX_BODY_BYTES

# Limits of one file, of all files of a request (413), and of their number (400). The largest file fits in a form.
RAG_MAX_FILE_BYTES = env.int("RAG_MAX_FILE_BYTES", default=256 * 1024 * 1024)
RAG_MAX_UPLOAD_BYTES = max(1024 * 1024 * 1024, RAG_MAX_FILE_BYTES + RAG_MAX_BODY_BYTES)
DATA_UPLOAD_MAX_NUMBER_FILES = 1000
# Uploads of a request beyond this size are written to unnamed temporary files.
FILE_UPLOAD_MAX_MEMORY_SIZE = 2_621_440
RAG_TEMP_FOLDER = Path(env.str("RAG_TEMP_FOLDER", default=str(DATA_DIR / "tmp")))
try:
    RAG_TEMP_FOLDER.mkdir(mode=0o700, parents=True, exist_ok=True)
except OSError as error:
    message = f"RAG_TEMP_FOLDER cannot be created ({error}). The user of this process must be able to write to it"
    raise ImproperlyConfigured(message) from None
FILE_UPLOAD_TEMP_DIR = str(RAG_TEMP_FOLDER)

# Originals are stored in a folder that is not served, or in a bucket of an S3-compatible store. Its credentials are
# AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or the machine's role, its region is AWS_DEFAULT_REGION.
RAG_STORAGE_FOLDER = Path(env.str("RAG_STORAGE_FOLDER", default=str(DATA_DIR / "files")))
RAG_STORAGE_S3_BUCKET = env.str("RAG_STORAGE_S3_BUCKET", default="")
RAG_STORAGE_S3_ENDPOINT = env.str("RAG_STORAGE_S3_ENDPOINT", default="")


def folder_storage(folder: Path) -> dict[str, object]:
    """Return the storage settings of a folder whose files only the owner may read."""
    options = {"location": str(folder), "file_permissions_mode": 0o600, "directory_permissions_mode": 0o700}
    return {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": options}


def bucket_storage(bucket: str, *, endpoint: str = "") -> dict[str, object]:
    """Return the storage settings of a bucket of an S3-compatible store.

    A file is sent in parts of 8 MiB (boto3's size), one at a time, so that only one is in memory. Checksums that other
    stores than Amazon's do not know are left out.
    """
    from boto3.s3.transfer import TransferConfig
    from botocore.config import Config

    client = Config(
        connect_timeout=5,
        read_timeout=60,
        retries={"mode": "standard", "total_max_attempts": 3},
        s3={"addressing_style": "path" if endpoint else "auto"},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    options = {
        "bucket_name": bucket,
        "endpoint_url": endpoint or None,
        "client_config": client,
        "transfer_config": TransferConfig(use_threads=False),
        "max_memory_size": FILE_UPLOAD_MAX_MEMORY_SIZE,
    }
    return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}


FILES = (
    bucket_storage(RAG_STORAGE_S3_BUCKET, endpoint=RAG_STORAGE_S3_ENDPOINT)
    if RAG_STORAGE_S3_BUCKET
    else folder_storage(RAG_STORAGE_FOLDER)
)
