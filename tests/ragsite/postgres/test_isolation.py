"""Test processes that run at the same time share PostgreSQL and Redis, and do not disturb each other."""

import copy

from django.conf import settings
from django.core.cache import CacheHandler, cache


def test_clearing_the_cache_keeps_what_other_processes_count() -> None:
    configuration = copy.deepcopy(settings.CACHES)
    configuration["default"]["KEY_PREFIX"] += "-another"
    another = CacheHandler(configuration)["default"]
    cache.set("count", 1)
    another.set("count", 2)
    cache.clear()
    assert (cache.get("count"), another.get("count")) == (None, 2)
    another.clear()
    assert another.get("count") is None
