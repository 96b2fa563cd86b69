"""The test settings for processes that tests start.

TEST_DATABASE names the test database, TEST_MODELS the folder of built models of the test process.
"""

import os
from pathlib import Path

from ragsite.settings.test import *
from tests.support.processes.schedules import ten_times_as_often

DATABASES["default"]["NAME"] = os.environ["TEST_DATABASE"]
# By which a test finds the connections of its worker.
CELERY_BROKER_TRANSPORT_OPTIONS["client_name"] = DATABASES["default"]["NAME"]
RAG_MODEL_CACHE_FOLDER = Path(os.environ.get("TEST_MODELS") or RAG_MODEL_CACHE_FOLDER)
RAG_MAX_UPLOAD_BYTES = 150 * 1024 * 1024
RAG_LEASE_SECONDS = 2
RAG_SWEEP_INTERVAL_SECONDS = 1
CELERY_BEAT_SCHEDULE = ten_times_as_often(CELERY_BEAT_SCHEDULE)
