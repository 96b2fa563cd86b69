"""Files of Office 97 to 2003."""
