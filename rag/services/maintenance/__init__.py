"""Background maintenance: checks, repairs, backfills, retention and the export of personal data."""
