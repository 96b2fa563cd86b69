#!/usr/bin/env bash
# Runs once, in the image of PostgreSQL, when its volume is empty: the login role of ragsite, its database and pgvector.
# The role is not a superuser. `manage.py migrate` creates the other roles with it.
set -euo pipefail
psql --no-psqlrc --set=ON_ERROR_STOP=1 --username="${POSTGRES_USER:-postgres}" --dbname=postgres <<'SQL'
\getenv password DATABASE_PASSWORD
CREATE ROLE ragsite LOGIN CREATEROLE PASSWORD :'password';
CREATE DATABASE ragsite OWNER ragsite ENCODING 'UTF8' TEMPLATE template0;
\connect ragsite
CREATE EXTENSION vector;
SQL
