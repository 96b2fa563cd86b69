"""The settings of retrieval-augmented generation by topic."""

from .demo import *
from .files import *
from .ingestion import *
from .models import *
from .retention import *
from .search import *
from .syncs_and_webhooks import *
from .vector_store import *
