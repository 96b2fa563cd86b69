"""Django itself: apps, middleware, database, cache, languages, static files."""

from .env import BASE_DIR as BASE_DIR
from .env import DATA_DIR, env
from .observability import RAG_TRACES_ENDPOINT
from .rag.files import FILES
from .rag.ingestion import RAG_MAX_BODY_BYTES

DEBUG = env.bool("DEBUG", default=False)
# Plain HTTP on loopback, for `make run`: cookies without Secure, no HSTS, no redirect to HTTPS.
RAG_LOCAL = env.bool("RAG_LOCAL", default=False)
SECRET_KEY = env.str("SECRET_KEY")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])

INSTALLED_APPS = [
    "accounts.apps.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django_structlog",
    "corsheaders",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "rest_framework_simplejwt",
    "axes",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "django_otp.plugins.otp_static",
    "csp",
    "accounts",
    "orgs",
    "rag",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "ragsite.http.request_log.RequestLogMiddleware",
    "ragsite.middleware.ResponseHeadersMiddleware",
    "corsheaders.middleware.CorsMiddleware",
    "ragsite.middleware.PageLanguageMiddleware",
    "ragsite.middleware.IpRateLimitMiddleware",
    "ragsite.middleware.BodyLimitMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_otp.middleware.OTPMiddleware",
    "ragsite.middleware.DatabaseIdentityMiddleware",
    "accounts.audit.request_context.CurrentRequestMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",
]

if RAG_TRACES_ENDPOINT:
    MIDDLEWARE.insert(
        MIDDLEWARE.index("ragsite.http.request_log.RequestLogMiddleware") + 1,
        "ragsite.observability.request_traces.RequestTraceMiddleware",
    )

ROOT_URLCONF = "ragsite.urls"
WSGI_APPLICATION = "ragsite.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "builtins": ["django.templatetags.i18n"],
            "libraries": {
                "direction_controls": "rag.pages.rendering.direction_controls",
                "operations_template_filters": "rag.pages.rendering.operations_template_filters",
                "reason_template_filters": "rag.pages.rendering.reason_template_filters",
            },
        },
    }
]

DATABASES = {"default": env.db_url("DATABASE_URL")}
DATABASES["default"]["ENGINE"] = "ragsite.postgres"  # which states who is asking
# Seconds. The first request of a session takes PostgreSQL longer than the next ones.
DATABASES["default"]["CONN_MAX_AGE"] = 600
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
# A lost connection is detected within a minute. Seconds; the last value is in milliseconds.
# Values are sent apart from statements.
DATABASES["default"]["OPTIONS"] = {"server_side_binding": True} | DATABASES["default"].get("OPTIONS", {})
_TIMEOUTS = {
    "connect_timeout": 5, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}  # fmt: skip
DATABASES["default"]["OPTIONS"] = _TIMEOUTS | DATABASES["default"].get("OPTIONS", {})
# For the web server: a blocked statement (lock, busy disk) must not occupy all its threads.
RAG_DATABASE_STATEMENT_TIMEOUT_SECONDS = env.int("RAG_DATABASE_STATEMENT_TIMEOUT_SECONDS", default=30)
# Let migrations run although processes of another version are connected, such as idle sessions of a pooler.
RAG_MIGRATE_WHILE_OTHERS_RUN = env.bool("RAG_MIGRATE_WHILE_OTHERS_RUN", default=False)
# PgBouncer in transaction mode, for web processes only: its address and the name of the database there.
_pooler = env.str("RAG_DATABASE_POOLER_URL", default="")
RAG_DATABASE_POOLER = env.db_url_config(_pooler) if _pooler else {}
# Read replicas, for the searches of web processes: the address of each, or of its pooler if there is one. How many
# seconds a replica may be behind.
RAG_DATABASE_REPLICAS = [env.db_url_config(url) for url in env.list("RAG_DATABASE_REPLICA_URLS", default=[])]
RAG_REPLICA_MAX_LAG_SECONDS = 5.0

REDIS_URL = env.str("REDIS_URL")
# Only counters are kept here (rag.contracts.common.rate_limits), and no request waits long for them.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "ragsite",
        "OPTIONS": {
            "serializer": "ragsite.cache.json_serializer.JSONSerializer",
            "socket_connect_timeout": 1,
            "socket_timeout": 1,
        },
    },
    # Pictures of cited pages, in each process: they are large, and drawn again without loss.
    "page_pictures": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "page-pictures",
        "TIMEOUT": 600,
        "OPTIONS": {"MAX_ENTRIES": 50},
    },
}

AUTH_USER_MODEL = "accounts.User"
# Django's limit of a body applies to the admin's forms and the API, whose parser answers 413.
DATA_UPLOAD_MAX_MEMORY_SIZE = RAG_MAX_BODY_BYTES
# The form of a data source has five fields for each of up to 600 grants (rag.models.grants.MAX_GRANTS_PER_KIND).
DATA_UPLOAD_MAX_NUMBER_FIELDS = 4_000

# The language of the API, and of pages whose visitor wants none of these. The language switch of the pages sets the
# cookie; without it the browser's list of languages decides.
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
LOCALE_PATHS = [BASE_DIR / "ragsite" / "locale"]
LANGUAGE_COOKIE_NAME = "language"
LANGUAGE_COOKIE_AGE = 365 * 24 * 3600
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
TIME_ZONE = "UTC"
USE_TZ = True
FORMAT_MODULE_PATH = ["ragsite.settings.formats"]

STATIC_URL = "static/"
RAGSITE_DATA = DATA_DIR
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": FILES,
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
# What is compressed already, and source maps, half of all bytes, which only the tools of developers load.
WHITENOISE_SKIP_COMPRESS_EXTENSIONS = ("gif", "jpg", "png", "webp", "woff", "woff2", "gz", "br", "map")
