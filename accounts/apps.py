from django.apps import AppConfig
from django.conf import settings


class AccountsConfig(AppConfig):
    name = "accounts"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from rest_framework_simplejwt import state
        from rest_framework_simplejwt.settings import api_settings

        from . import checks as checks
        from . import trail
        from .keys import KeyRing

        # The library has no setting for it, and every token class asks here.
        state.token_backend = KeyRing(api_settings, settings.JWT_OLD_KEYS)
        trail.begin()
