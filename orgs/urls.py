"""/api/auth/keys"""

from django.urls import re_path

from . import api

urlpatterns = [
    re_path(r"^keys/?$", api.Keys.as_view(), name="api-keys"),
    re_path(r"^keys/(?P<key_id>[^/]+)/?$", api.Key.as_view(), name="api-key"),
]
