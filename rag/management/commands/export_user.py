"""manage.py export_user: everything that is kept about a person, in a file."""

import os
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import User
from rag.services.maintenance import personal_data


class Command(BaseCommand):
    help = "Write everything that is kept about a person to a new file, as JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("file", help="must not exist yet; only its owner may read it")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            user = User.objects.get_by_natural_key(options["email"])
        except User.DoesNotExist:
            raise CommandError("Nobody has this e-mail address.") from None
        try:
            descriptor = os.open(options["file"], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise CommandError(f"The file cannot be made: {error.strerror}.") from None
        with open(descriptor, "w", encoding="utf-8") as file:
            personal_data.export_personal_data(user, file)
        self.stdout.write("Written. It holds everything that this person asked: hand it over with care.")
