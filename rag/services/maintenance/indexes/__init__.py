"""Keeps the indexes of search complete and correct: builds, backfills, checks and moves them."""
