"""/api/auth/keys, /api/auth/member-keys"""

from django.urls import re_path

from .api_keys import member_views, views
from .authentication import openapi as _  # noqa: F401  # registers the authentication schemes with drf-spectacular

urlpatterns = [
    re_path(r"^keys/?$", views.Keys.as_view(), name="api-keys"),
    re_path(r"^keys/(?P<key_id>[^/]+)/?$", views.Key.as_view(), name="api-key"),
    re_path(r"^member-keys/?$", member_views.MemberKeys.as_view(), name="member-keys"),
    re_path(r"^member-keys/(?P<key_id>[^/]+)/?$", member_views.MemberKey.as_view(), name="member-key"),
    re_path(r"^keys/(?P<key_id>[^/]+)/rotate/?$", views.Rotation.as_view(), name="api-key-rotation"),
]
