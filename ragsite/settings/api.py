"""The HTTP contracts: authentication, parsing, JWT."""

from datetime import timedelta

from .base import SECRET_KEY
from .env import env

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["accounts.authentication.AccessTokenAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PARSER_CLASSES": ["accounts.parsers.BoundedJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "accounts.schema.Schema",
    "EXCEPTION_HANDLER": "accounts.envelope.exception_handler",
    "COERCE_DECIMAL_TO_STRING": False,
}

SIMPLE_JWT = {
    "ACCESS_TOKEN_LIFETIME": timedelta(minutes=env.int("JWT_ACCESS_MINUTES", default=30)),
    "REFRESH_TOKEN_LIFETIME": timedelta(days=env.int("JWT_REFRESH_DAYS", default=7)),
    "ROTATE_REFRESH_TOKENS": True,
    "BLACKLIST_AFTER_ROTATION": True,
    "UPDATE_LAST_LOGIN": True,
    "SIGNING_KEY": env.str("JWT_SIGNING_KEY", default=SECRET_KEY),
    "AUDIENCE": env.str("JWT_AUDIENCE", default="ragsite"),
    # A changed password ends every token that was issued before.
    "CHECK_REVOKE_TOKEN": True,
    "USER_ID_CLAIM": "sub",
}

SPECTACULAR_SETTINGS = {
    "TITLE": "ragsite",
    "VERSION": "1.0.0",
    "OAS_VERSION": "3.1.0",
    "DESCRIPTION": "Five published contracts on one server: v3, retrieval, pipeline, agent and search service.",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "PREPROCESSING_HOOKS": ["accounts.schema.literal_paths"],
    "POSTPROCESSING_HOOKS": [],
    "SCHEMA_PATH_PREFIX": "/",
    # The reference is open, even to somebody with an expired token.
    "SERVE_AUTHENTICATION": [],
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    # The pages' scripts and styles are served from here, not from a CDN.
    # The validator would be somebody else's server.
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "validatorUrl": None},
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
}
