"""How the pages show dates and times: every time with its zone (FORMAT_MODULE_PATH)."""

DATE_FORMAT = "j M Y"
TIME_FORMAT = "H:i e"
DATETIME_FORMAT = "j M Y, H:i e"
SHORT_DATETIME_FORMAT = "Y-m-d H:i e"
# Of this project: times of the last days.
DAY_TIME_FORMAT = "j M, H:i e"
CHART_TIME_FORMAT = "j M, H:i"
DAY_SECONDS_FORMAT = "j M, H:i:s"
