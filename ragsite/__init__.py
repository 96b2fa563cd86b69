"""The project. It loads the Celery app with Django, so that every process publishes to the same broker."""

import os

# Must be set before numpy is imported. Requests and workers already run in parallel: with threads of its own, numpy
# takes more than twice the CPU for matrices as small as theirs.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from .celery import app as celery_app

__version__ = "0.1.0"

__all__ = ["__version__", "celery_app"]
