"""Tests run with production's settings, on the services that DATABASE_URL and REDIS_URL name."""

import os

os.environ.setdefault("SECRET_KEY", "tests-only-" + "0" * 50)
os.environ["RAGSITE_LOCAL"] = "1"

from . import *

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # hundreds of users a run
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
