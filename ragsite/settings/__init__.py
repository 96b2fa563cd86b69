"""All settings, by topic. Every value a deployment may change is read from the environment; docs/operations.md lists them."""

from .base import *
from .rag import *
from .api import *
from .celery import *
