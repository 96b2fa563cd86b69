"""Signing in: how often somebody may fail, the second factor, and what our own pages may load."""

from datetime import timedelta

from django.core.exceptions import ImproperlyConfigured

from .env import env

AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]

# So many failures for one account from one address lock that account for that address, and so many from one address,
# for whichever accounts, lock the address: for so many minutes after the last of them.
RAG_SIGN_IN_MAX_FAILURES_PER_IP = env.int("RAG_SIGN_IN_MAX_FAILURES_PER_IP", default=50)

# Kept in PostgreSQL, where the accounts are: all processes count together, and Redis can be down.
AXES_HANDLER = "accounts.sign_in.lockout.LockoutHandler"
AXES_FAILURE_LIMIT = 5
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"], "ip_address"]
AXES_COOLOFF_TIME = timedelta(minutes=15)
# An attempt while locked changes nothing: nobody can prolong it for somebody else behind the same address.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_RESET_ON_SUCCESS = True
AXES_USERNAME_CALLABLE = "accounts.sign_in.lockout.get_account_name"
AXES_CLIENT_IP_CALLABLE = "accounts.sign_in.lockout.get_client_ip"
AXES_LOCKOUT_CALLABLE = "accounts.sign_in.lockout.render_lockout_page"
AXES_SENSITIVE_PARAMETERS = ["username", "email", "code", "csrfmiddlewaretoken"]
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False

# A second factor for the people of the admin: off, optional (who has set one up gives a code), required.
RAG_STAFF_OTP = env.str("RAG_STAFF_OTP", default="optional")
if RAG_STAFF_OTP not in ("off", "optional", "required"):
    raise ImproperlyConfigured("RAG_STAFF_OTP must be off, optional or required.")
OTP_TOTP_ISSUER = "ragsite"

# Our pages load their own scripts, styles and images, and nothing that stands inside a page.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}
