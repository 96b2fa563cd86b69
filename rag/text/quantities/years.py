"""Years in texts, as parts of regular expressions."""

YEAR = r"(?:19|20)\d\d"
# From 1950 to 2039: an earlier or later one is as likely a number of things.
LIKELY_YEAR = r"(?:19[5-9]|20[0-3])\d"
