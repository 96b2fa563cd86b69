"""How browsers are protected: HTTPS, cookies, frames, the content security policy, other origins (CORS)."""

from urllib.parse import urlsplit

from .base import DEBUG, RAG_LOCAL
from .email import RAG_PUBLIC_URL
from .env import env

# Secure by default; only RAG_LOCAL and DEBUG relax it.
_https = not (DEBUG or RAG_LOCAL)
SECURE_SSL_REDIRECT = _https
# The API does not redirect, because a redirected POST loses its body. It refuses credentials over plain HTTP.
SECURE_REDIRECT_EXEMPT = [
    r"^(api|agent|functions|mcp|oauth/(register|token|revoke)|scim|v1|healthz|readyz|metrics)(/|$)"
]
# One hour. A longer period is the operator's decision; subdomains and preload lists are set at the proxy.
SECURE_HSTS_SECONDS = env.int("SECURE_HSTS_SECONDS", default=3600 if _https else 0)
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]  # subdomains and preload
# Messages may show a new secret once. A cookie would let it be read afterwards.
MESSAGE_STORAGE = "ragsite.views.bounded_messages.BoundedSessionStorage"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = _https
SESSION_COOKIE_HTTPONLY = True
X_FRAME_OPTIONS = "DENY"
# Forms of the product's own address are accepted, even if a proxy passes on another Host; and of these, if it has more.
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
_public = urlsplit(RAG_PUBLIC_URL)
if _public.scheme and _public.netloc:
    CSRF_TRUSTED_ORIGINS.append(f"{_public.scheme}://{_public.netloc}")
CSRF_FAILURE_VIEW = "ragsite.views.error_pages.csrf_failure"
SECURE_REFERRER_POLICY = "same-origin"
# Only behind a proxy that always overwrites the header.
if env.bool("RAG_TRUST_X_FORWARDED_PROTO", default=False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

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

# CORS for the contracts' paths, without cookies. All origins are allowed unless some are listed.
CORS_ALLOWED_ORIGINS = env.list("CORS_ALLOWED_ORIGINS", default=[])
# MCP requires its server to refuse origins that it does not know, so that "all" is not a choice for /mcp.
_MCP_PATHS = r"|mcp|\.well-known/oauth-[^/]*|oauth/(register|token|revoke)" if CORS_ALLOWED_ORIGINS else ""
CORS_URLS_REGEX = rf"^/(api|functions|agent|v1{_MCP_PATHS})(/|$)"
CORS_ALLOW_ALL_ORIGINS = not CORS_ALLOWED_ORIGINS
CORS_ALLOW_HEADERS = [
    *("authorization", "x-client-info", "apikey", "content-type"),  # of the retrieval contract
    *("accept", "x-api-key", "x-organization"),
    *("if-match", "if-none-match", "idempotency-key", "mcp-protocol-version"),
    # supabase-js sends these if an app chooses a region or propagates traces. They are ignored.
    *("x-region", "traceparent", "tracestate", "baggage"),
]
CORS_EXPOSE_HEADERS = [
    *("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"),
    *("ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"),
    *("etag", "idempotent-replayed", "link", "retry-after", "x-request-id", "x-request-warnings"),
]
