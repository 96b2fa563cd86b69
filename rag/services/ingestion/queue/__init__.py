"""Which documents of jobs are processed next, who holds them, and when they wait or are tried again."""
