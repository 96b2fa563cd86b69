"""The product's settings without its second fence: connections are the embedded cluster's superuser's, whom no policy
concerns, and nobody is stated."""

from ragsite.settings import *

DATABASES["default"]["ENGINE"] = "django.db.backends.postgresql"
