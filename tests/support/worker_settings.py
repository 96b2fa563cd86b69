"""The test settings in a worker process: on the test database, which the test names."""

import os

from ragsite.settings.test import *

DATABASES["default"]["NAME"] = os.environ["TEST_DATABASE"]
