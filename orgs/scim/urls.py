"""The URLs below /scim/v2."""

from django.urls import re_path

from . import description_views, views

urlpatterns = [
    re_path(r"^\.search/?$", views.Search.as_view(), name="scim-search"),
    re_path(r"^Users/?$", views.Users.as_view(), name="scim-users"),
    re_path(r"^Users/\.search/?$", views.UserSearch.as_view(), name="scim-user-search"),
    re_path(r"^Users/(?P<pk>[^/]+)/?$", views.User.as_view(), name="scim-user"),
    re_path(r"^Groups/?$", views.Groups.as_view(), name="scim-groups"),
    re_path(r"^Groups/\.search/?$", views.GroupSearch.as_view(), name="scim-group-search"),
    re_path(r"^Groups/(?P<pk>[^/]+)/?$", views.Group.as_view(), name="scim-group"),
    re_path(
        r"^(?P<kind>ServiceProviderConfig|ResourceTypes|Schemas)/?(?P<name>[^/]*)/?$",
        description_views.Description.as_view(),
        name="scim-description",
    ),
    re_path(r"", description_views.Unknown.as_view(), name="scim-unknown"),
]
