"""Tests run with the product's settings, on the services that DATABASE_URL and REDIS_URL name (see `make test`)."""

from . import *
from .env import env

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # hundreds of users a run
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
STATIC_ROOT.mkdir(parents=True, exist_ok=True)  # whitenoise warns about a missing folder
RAG_RATE_LIMITS = env.bool("RAG_RATE_LIMITS", default=False)  # the tests of the limits switch them on
# Each test process (pytest-xdist) has a database of its own, and here keys of its own.
_process = env.str("PYTEST_XDIST_WORKER", default="one")
CACHES["default"]["KEY_PREFIX"] = f"ragsite-tests-{_process}"
# Messages of tests are only for workers that tests start.
CELERY_BROKER_TRANSPORT_OPTIONS["global_keyprefix"] = f"ragsite-tests-{_process}:"
RAG_ALLOWED_PRIVATE_HOSTS = ["127.0.0.1"]  # tests/support/provider_server.py
