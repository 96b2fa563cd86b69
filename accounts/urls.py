"""/api/auth/…"""

from django.urls import re_path

from . import api

urlpatterns = [
    re_path(r"^token/?$", api.ObtainToken.as_view(), name="token"),
    re_path(r"^token/refresh/?$", api.RotateToken.as_view(), name="token-refresh"),
    re_path(r"^token/verify/?$", api.VerifyToken.as_view(), name="token-verify"),
    re_path(r"^token/revoke/?$", api.RevokeToken.as_view(), name="token-revoke"),
]
