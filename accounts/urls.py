"""The URLs of /api/auth/token."""

from django.urls import re_path

from . import token_views

urlpatterns = [
    re_path(r"^token/?$", token_views.ObtainToken.as_view(), name="token"),
    re_path(r"^token/refresh/?$", token_views.RotateToken.as_view(), name="token-refresh"),
    re_path(r"^token/verify/?$", token_views.VerifyToken.as_view(), name="token-verify"),
    re_path(r"^token/revoke/?$", token_views.RevokeToken.as_view(), name="token-revoke"),
]
