"""/sign-in/organization, /sign-in/callback/PROVIDER and /sign-in/code"""

from django.urls import path

from . import pages

urlpatterns = [
    path("organization", pages.Start.as_view(), name="single_sign_on"),
    path("callback/<uuid:provider_id>", pages.Callback.as_view(), name="single_sign_on_callback"),
    path("code", pages.EnterCode.as_view(), name="single_sign_on_code"),
]
