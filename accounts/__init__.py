"""User accounts, sign-in and the audit trail."""
