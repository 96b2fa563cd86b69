"""The project. Processes that publish or run tasks load its Celery application (ragsite.celery): it takes long."""

import os

# Must be set before numpy is imported. Requests and workers already run in parallel: with threads of its own, numpy
# takes more than twice the CPU for matrices as small as theirs.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")

__version__ = "0.1.0"
