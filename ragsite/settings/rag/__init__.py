"""The settings of retrieval-augmented generation by topic."""

from .files import *
from .models import *
from .vector_store import *
