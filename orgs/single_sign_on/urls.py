"""/sign-in/organization, /sign-in/callback/PROVIDER, /sign-in/back-channel-logout/PROVIDER and /sign-in/code"""

from django.urls import path

from . import pages
from .back_channel_logout import BackChannelLogout

urlpatterns = [
    path("organization", pages.Start.as_view(), name="single_sign_on"),
    path("callback/<uuid:provider_id>", pages.Callback.as_view(), name="single_sign_on_callback"),
    path("back-channel-logout/<uuid:provider_id>", BackChannelLogout.as_view(), name="single_sign_on_logout"),
    path("code", pages.EnterCode.as_view(), name="single_sign_on_code"),
]
