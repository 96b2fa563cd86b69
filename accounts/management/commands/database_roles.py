"""Prints the SQL that creates the database roles, for an administrator of a server on which `migrate` may not do it."""

from typing import Any

from django.core.management.base import BaseCommand

from ragsite.postgres.roles import creation_sql


class Command(BaseCommand):
    help = "Print the SQL that creates the database roles. An administrator of the server runs it: … | psql URL"
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(creation_sql())
