"""/api/auth/keys"""

from django.urls import re_path

from . import api
from . import schema as _  # noqa: F401  # tells the OpenAPI generator about our credentials

urlpatterns = [
    re_path(r"^keys/?$", api.Keys.as_view(), name="api-keys"),
    re_path(r"^keys/(?P<key_id>[^/]+)/?$", api.Key.as_view(), name="api-key"),
    re_path(r"^keys/(?P<key_id>[^/]+)/rotate/?$", api.Rotation.as_view(), name="api-key-rotation"),
]
