"""What make bench reports: its figures with their limits and goals, as a table, a page, JSON and plots."""
