"""/api/auth/keys"""

from django.urls import re_path

from .api_keys import openapi as _  # noqa: F401  # tells the OpenAPI generator about our credentials
from .api_keys import views

urlpatterns = [
    re_path(r"^keys/?$", views.Keys.as_view(), name="api-keys"),
    re_path(r"^keys/(?P<key_id>[^/]+)/?$", views.Key.as_view(), name="api-key"),
    re_path(r"^keys/(?P<key_id>[^/]+)/rotate/?$", views.Rotation.as_view(), name="api-key-rotation"),
]
