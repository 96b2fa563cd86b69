"""Django's test client, signed in as a user of the pages."""

from django.test import Client

from accounts.models import User


def browser(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def staff_browser(user: User) -> Client:
    """Let the user open the admin, and return a client that is signed in as them."""
    user.is_staff = True
    user.save()
    return browser(user)
