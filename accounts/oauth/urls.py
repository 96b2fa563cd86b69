"""/oauth and the metadata of OAuth below /.well-known"""

from django.urls import path, re_path

from . import connected_programs, pages, views

urlpatterns = [
    # RFC 9728 and RFC 8414 put the path of the resource behind the well-known one. There is one resource.
    re_path(
        r"^\.well-known/oauth-protected-resource(?:/mcp)?$", views.ResourceMetadata.as_view(), name="oauth_resource"
    ),
    path(".well-known/oauth-authorization-server", views.ServerMetadata.as_view(), name="oauth_server"),
    path("oauth/authorize", pages.Authorize.as_view(), name="oauth_authorize"),
    path("oauth/programs", connected_programs.AllowedPrograms.as_view(), name="oauth_programs"),
    path("oauth/register", views.Register.as_view(), name="oauth_register"),
    path("oauth/token", views.Token.as_view(), name="oauth_token"),
    path("oauth/revoke", views.Revoke.as_view(), name="oauth_revoke"),
]
