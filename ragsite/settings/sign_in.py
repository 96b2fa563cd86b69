"""Sign-in: passwords, sessions, access tokens, lockout after failures, the second factor, identity providers."""

from datetime import timedelta

from django.core.exceptions import ImproperlyConfigured

from .base import SECRET_KEY
from .env import env

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "orgs.single_sign_on.enforcement.PasswordBackend",
    "orgs.single_sign_on.enforcement.SingleSignOnBackend",
]

SESSION_ENGINE = "accounts.sign_in.sessions"
LOGIN_URL, LOGIN_REDIRECT_URL = "sign_in", "ask"

# After AXES_FAILURE_LIMIT failures, an account is locked for the address that they came from. After this many failures
# of any accounts, the address is locked. Both end AXES_COOLOFF_TIME after the last failure.
RAG_SIGN_IN_MAX_FAILURES_PER_IP = env.int("RAG_SIGN_IN_MAX_FAILURES_PER_IP", default=50)

# Password checks at the same time in one web process. Each needs more than half a second of CPU time.
RAG_MAX_PASSWORD_CHECKS = 4

# Stored in PostgreSQL with the accounts: all processes count together, even while Redis is down.
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

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
# In seconds. The templates forgotten_password.html and password_reset_email.txt call it an hour.
PASSWORD_RESET_TIMEOUT = 3600

SIMPLE_JWT = {
    "ACCESS_TOKEN_LIFETIME": timedelta(minutes=env.int("RAG_JWT_ACCESS_MINUTES", default=30)),
    "REFRESH_TOKEN_LIFETIME": timedelta(days=env.int("RAG_JWT_REFRESH_DAYS", default=7)),
    "SIGNING_KEY": env.str("RAG_JWT_SIGNING_KEY", default=SECRET_KEY),
    "ALGORITHM": "HS256",
    "AUDIENCE": "ragsite",
    "ISSUER": "ragsite",
    # A password change invalidates all earlier tokens.
    "CHECK_REVOKE_TOKEN": True,
    "USER_ID_CLAIM": "sub",
    # The clock of the web server that issued a token may be fast.
    "LEEWAY": timedelta(seconds=10),
}

# Earlier signing keys: tokens that they signed are accepted until they expire.
RAG_JWT_OLD_SIGNING_KEYS = env.list("RAG_JWT_OLD_SIGNING_KEYS", default=[])

# The second factor of admin users: off, optional (required from users who have set one up) or required.
RAG_STAFF_OTP = env.str("RAG_STAFF_OTP", default="optional")
if RAG_STAFF_OTP not in ("off", "optional", "required"):
    raise ImproperlyConfigured("RAG_STAFF_OTP must be off, optional or required.")
OTP_TOTP_ISSUER = "ragsite"
