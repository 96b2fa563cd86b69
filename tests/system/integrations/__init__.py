"""make integrations: counterparts of others, against the running product."""
