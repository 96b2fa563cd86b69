"""All settings by topic. Those that a deployment may change come from the environment: docs/operations/settings.md."""

from .base import *
from .observability import *
from .web_server import *
from .browser_security import *
from .sign_in import *
from .email import *
from .rag import *
from .api import *
from .celery import *
from .env import env

# The names of the variables that the settings read; `manage.py check` reports others that start with RAG_.
ENVIRONMENT_VARIABLES = env.names
