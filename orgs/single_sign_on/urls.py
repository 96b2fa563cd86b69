"""/sign-in/organization, /sign-in/code, and the addresses that each identity provider knows"""

from django.urls import path

from . import pages
from .back_channel_logout import BackChannelLogout
from .saml import pages as saml_pages

urlpatterns = [
    path("organization", pages.Start.as_view(), name="single_sign_on"),
    path("callback/<uuid:provider_id>", pages.Callback.as_view(), name="single_sign_on_callback"),
    path("back-channel-logout/<uuid:provider_id>", BackChannelLogout.as_view(), name="single_sign_on_logout"),
    path("saml/<uuid:provider_id>/metadata", saml_pages.Metadata.as_view(), name="saml_metadata"),
    path("saml/<uuid:provider_id>/response", saml_pages.Consumer.as_view(), name="saml_consumer"),
    path("saml/<uuid:provider_id>/logout", saml_pages.SingleLogout.as_view(), name="saml_sign_out"),
    path("saml/<uuid:provider_id>/sign-out", saml_pages.SignOut.as_view(), name="saml_sign_out_there"),
    path("code", pages.EnterCode.as_view(), name="single_sign_on_code"),
]
