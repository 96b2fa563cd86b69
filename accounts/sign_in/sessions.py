"""Sessions in the database, which only the role of sign-in reads and writes: a session key is a credential."""

from django.contrib.sessions.backends import db

from ragsite.postgres import identity


class SessionStore(db.SessionStore):
    """Django's sessions, with the database identity of sign-in."""

    def _get_session_from_db(self) -> object:
        with identity.run_as(identity.SIGN_IN):
            return super()._get_session_from_db()  # type: ignore[misc]  # the stubs lack it

    def exists(self, session_key: str) -> bool:
        with identity.run_as(identity.SIGN_IN):
            return bool(super().exists(session_key))

    def save(self, must_create: bool = False) -> None:
        with identity.run_as(identity.SIGN_IN):
            super().save(must_create)

    def delete(self, session_key: str | None = None) -> None:
        with identity.run_as(identity.SIGN_IN):
            super().delete(session_key)
