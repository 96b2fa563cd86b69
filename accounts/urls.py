"""The URLs of /api/auth/token."""

from django.urls import re_path

from . import views

urlpatterns = [
    re_path(r"^token/?$", views.ObtainToken.as_view(), name="token"),
    re_path(r"^token/refresh/?$", views.RotateToken.as_view(), name="token-refresh"),
    re_path(r"^token/verify/?$", views.VerifyToken.as_view(), name="token-verify"),
    re_path(r"^token/revoke/?$", views.RevokeToken.as_view(), name="token-revoke"),
]
