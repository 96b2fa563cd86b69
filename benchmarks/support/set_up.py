"""Prepares a benchmark's own process."""

import os
import subprocess
import sys

import django

from ragsite.postgres import identity


def set_up_django() -> None:
    """Let this process use the product's code as a worker does, and start servers without rate limits.

    They may ask the endpoint on this machine (`embedding_endpoint.py`).
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
    os.environ.setdefault("RAG_RATE_LIMITS", "off")
    os.environ.setdefault("RAG_ALLOWED_PRIVATE_HOSTS", "127.0.0.1")
    identity.run_process_as(identity.WORKER)
    django.setup()


def migrate() -> None:
    """Create the tables of the database, or bring them up to date."""
    subprocess.run([sys.executable, "manage.py", "migrate", "--verbosity=0"], check=True)
