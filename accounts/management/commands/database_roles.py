"""Prints the SQL that creates the database roles, for an administrator of a server on which `migrate` may not do it."""

from django.core.management.base import BaseCommand, CommandParser

from ragsite.postgres.roles.preparation import creation_sql, userlist


class Command(BaseCommand):
    help = "Print the SQL that creates the database roles. An administrator of the server runs it: … | psql URL"
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--pgbouncer", action="store_true", help="print the file userlist.txt of PgBouncer, with passwords"
        )

    def handle(self, *args: object, **options: object) -> None:
        self.stdout.write(userlist() if options["pgbouncer"] else creation_sql())
