"""Management commands: manage.py NAME."""
