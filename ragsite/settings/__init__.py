"""All settings, by topic. What a deployment may change is read from the environment; docs/operations.md lists it."""

from .base import *
from .sign_in import *
from .rag import *
from .files import *
from .api import *
from .celery import *
