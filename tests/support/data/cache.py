"""Empties the cache of this test process."""

from django.core.cache.backends.redis import RedisCache


def delete_own_keys(cache: RedisCache) -> bool:
    """Delete the keys of this cache. Django's `clear` empties all of Redis, the counters of other processes too."""
    client = cache._cache.get_client(write=True)
    for key in client.scan_iter(match=cache.make_key("*"), count=1000):
        client.delete(key)
    return True
