"""PostgreSQL and Redis out of their wheels, for trying the product and for its tests.

They listen on Unix sockets below one data folder and nowhere else. Production names real servers
in DATABASE_URL and REDIS_URL; then nothing here is used.
"""
