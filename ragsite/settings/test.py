"""The product's settings for tests, on the services in DATABASE_URL and REDIS_URL (see `make test`)."""

from . import *
from .env import env

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # fast: tests create hundreds of users
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
STATIC_ROOT.mkdir(parents=True, exist_ok=True)  # whitenoise warns about a missing folder
RAG_RATE_LIMITS = env.bool("RAG_RATE_LIMITS", default=False)  # tests of the limits switch them on
# Each test process (pytest-xdist) has its own database, and its own keys in Redis.
_process = env.str("PYTEST_XDIST_WORKER", default="one")
CACHES["default"]["KEY_PREFIX"] = f"ragsite-tests-{_process}"
# A request whose counter does not answer in time is not counted, and a busy machine may take longer than a second.
CACHES["default"]["OPTIONS"] |= {"socket_connect_timeout": 20, "socket_timeout": 20}
# Only workers that tests start receive the messages of tests.
CELERY_BROKER_TRANSPORT_OPTIONS["global_keyprefix"] = f"ragsite-tests-{_process}:"
RAG_ALLOWED_PRIVATE_HOSTS = ["127.0.0.1"]  # tests/support/servers/provider_server.py
