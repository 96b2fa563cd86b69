"""The test settings for processes that tests start. TEST_DATABASE names the test database."""

import os

from ragsite.settings.test import *

DATABASES["default"]["NAME"] = os.environ["TEST_DATABASE"]
