"""The product's settings without row-level security: connections belong to the embedded cluster's superuser, to whom no
policy applies, and set no identity."""

from ragsite.settings import *

DATABASES["default"]["ENGINE"] = "django.db.backends.postgresql"
