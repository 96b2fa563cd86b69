"""How much the clocks of an identity provider and of this server may differ, and how old a sign-out may be."""

import datetime

LEEWAY = datetime.timedelta(seconds=60)
MAX_SIGN_OUT_AGE = datetime.timedelta(minutes=5)
