"""Outgoing e-mail: invitations and forgotten passwords."""

from .base import DEBUG, RAG_LOCAL
from .env import env

# The mail server as a URL (smtp+tls://user:password@mail.example.com:587), and the address that messages come from.
# `consolemail://` prints messages to the web server's log. Without a server there are no messages.
RAG_EMAIL_URL = env.str("RAG_EMAIL_URL", default="consolemail://" if DEBUG or RAG_LOCAL else "")
RAG_EMAIL_FROM = env.str("RAG_EMAIL_FROM", default="ragsite@localhost")
if RAG_EMAIL_URL:
    globals().update(env.email_url_config(RAG_EMAIL_URL))
# The address of the product in these messages. Required with a mail server, except for `make run`.
RAG_PUBLIC_URL = env.str("RAG_PUBLIC_URL", default="")
# A web server's thread waits this long for the mail server.
EMAIL_TIMEOUT = 10
