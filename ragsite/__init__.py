"""The project. The Celery app is loaded with Django, so that every process publishes to the same broker."""

import os

# Before anybody imports numpy. Requests and workers already run side by side: for products as small as theirs, threads
# of its own take more than twice the CPU.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from .celery import app as celery_app

__all__ = ["celery_app"]
