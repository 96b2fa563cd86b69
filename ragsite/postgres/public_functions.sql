-- Functions that PostgreSQL lets every role call, and that the product does not need: ending the statements and sessions
-- of other requests, which have the same role, and storing large objects without bounds. Only a superuser may take them
-- from PUBLIC, in each database.
REVOKE EXECUTE ON FUNCTION pg_cancel_backend(integer), pg_terminate_backend(integer, bigint), lo_creat(integer),
    lo_create(oid), lo_from_bytea(oid, bytea), lo_open(oid, integer) FROM PUBLIC;
