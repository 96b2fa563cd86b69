"""manage.py export_user: export everything that is stored about a user."""

import os
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import User
from rag.services.maintenance import personal_data_export


class Command(BaseCommand):
    help = "Write everything that is stored about a user to a new JSON file."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", help="e-mail address of the user")
        parser.add_argument("file", help="path of the new file; only its owner may read it")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            user = User.objects.get_by_natural_key(options["email"])
        except User.DoesNotExist:
            raise CommandError("There is no user with this e-mail address.") from None
        try:
            descriptor = os.open(options["file"], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise CommandError(f"The file cannot be created: {error.strerror}.") from None
        with open(descriptor, "w", encoding="utf-8") as file:
            personal_data_export.export_personal_data(user, file)
        self.stdout.write("Done. The file has the searches and conversations of this user: handle it with care.")
