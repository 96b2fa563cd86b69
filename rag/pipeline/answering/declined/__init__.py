"""Answers that say that there is none."""
