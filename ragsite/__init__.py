"""The project. The Celery app is loaded with Django, so that every process publishes to the same broker."""

from .celery import app as celery_app

__all__ = ["celery_app"]
