"""All settings by topic. Those that a deployment may change come from the environment: docs/operations/settings.md."""

import gc

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

# Nothing that a start imports is garbage, and looking for it takes a fifth of a start. `django.setup` continues after
# the settings; RagConfig.ready, its last step, enables the collection again.
gc.disable()
