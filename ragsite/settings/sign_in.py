"""Sign-in: lockout after failures, the second factor, and the content security policy of the pages."""

from datetime import timedelta

from django.core.exceptions import ImproperlyConfigured

from .env import env

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "orgs.single_sign_on.enforcement.PasswordBackend",
    "orgs.single_sign_on.enforcement.SingleSignOnBackend",
]

LOGIN_URL, LOGIN_REDIRECT_URL = "sign_in", "ask"

# So many failures for one account from one address lock that account for that address, and so many from one address,
# for whichever accounts, lock the address: for so many minutes after the last of them.
RAG_SIGN_IN_MAX_FAILURES_PER_IP = env.int("RAG_SIGN_IN_MAX_FAILURES_PER_IP", default=50)

# Password checks at the same time in one web process. Each needs more than half a second of CPU time.
RAG_MAX_PASSWORD_CHECKS = env.int("RAG_MAX_PASSWORD_CHECKS", default=4)
if RAG_MAX_PASSWORD_CHECKS < 1:
    raise ImproperlyConfigured("RAG_MAX_PASSWORD_CHECKS must be at least 1.")

# Stored in PostgreSQL with the accounts: all processes count together, also while Redis is down.
AXES_HANDLER = "accounts.sign_in.lockout.LockoutHandler"
AXES_FAILURE_LIMIT = 5
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"], "ip_address"]
AXES_COOLOFF_TIME = timedelta(minutes=15)
# Attempts during a lockout do not prolong it, so that nobody can lock out others behind the same address.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_RESET_ON_SUCCESS = True
AXES_USERNAME_CALLABLE = "accounts.sign_in.lockout.get_account_name"
AXES_CLIENT_IP_CALLABLE = "accounts.sign_in.lockout.get_client_ip"
AXES_LOCKOUT_CALLABLE = "accounts.sign_in.lockout.render_lockout_page"
AXES_SENSITIVE_PARAMETERS = ["username", "email", "code", "csrfmiddlewaretoken"]
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False

# Hosts within private networks to which identity providers may belong, whose addresses organisations enter. Only these
# may be reached without HTTPS.
RAG_SIGN_IN_PRIVATE_HOSTS = env.list("RAG_SIGN_IN_PRIVATE_HOSTS", default=[])

PASSWORD_RESET_TIMEOUT = 3600

# The second factor of admin users: off, optional (required from users who have set one up) or required.
RAG_STAFF_OTP = env.str("RAG_STAFF_OTP", default="optional")
if RAG_STAFF_OTP not in ("off", "optional", "required"):
    raise ImproperlyConfigured("RAG_STAFF_OTP must be off, optional or required.")
OTP_TOTP_ISSUER = "ragsite"

# Pages load scripts, styles and images only from this server; inline code is not allowed.
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
