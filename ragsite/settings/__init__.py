"""All settings by topic. Those that a deployment may change come from the environment: docs/operations/settings.md."""

from .base import *
from .sign_in import *
from .rag import *
from .files import *
from .api import *
from .celery import *
