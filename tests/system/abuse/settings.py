"""The settings of the chaos tests, with leases that a busy worker does not lose."""

from tests.system.chaos.settings import *

RAG_LEASE_SECONDS = 5
