"""/api/auth/keys"""

from django.urls import re_path

from .api_keys import views
from .authentication import openapi as _  # noqa: F401  # registers the authentication schemes with drf-spectacular

urlpatterns = [
    re_path(r"^keys/?$", views.Keys.as_view(), name="api-keys"),
    re_path(r"^keys/(?P<key_id>[^/]+)/?$", views.Key.as_view(), name="api-key"),
    re_path(r"^keys/(?P<key_id>[^/]+)/rotate/?$", views.Rotation.as_view(), name="api-key-rotation"),
]
