"""Embedded PostgreSQL and Redis, from Python wheels, for `make run` and for tests.

They listen only on Unix sockets in a data folder. A deployment sets DATABASE_URL and REDIS_URL and does not use them.
"""
