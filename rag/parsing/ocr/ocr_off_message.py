"""The message for people whose document needs text recognition (OCR) while it is off or not installed."""

OCR_IS_OFF = (
    "{}, and text recognition (OCR) is off. Turn it on in the settings of the data source (an administrator may have "
    "to install it), or send the text itself."
)
