"""The product's settings without row-level security (benchmarks.support.engine_without_rls)."""

from ragsite.settings import *

DATABASES["default"]["ENGINE"] = "benchmarks.support.engine_without_rls"
