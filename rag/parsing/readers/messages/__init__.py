"""E-mails, mailboxes, calendars and contacts."""
