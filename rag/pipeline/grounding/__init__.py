"""Checks answers against sources: groundability before generation, validation after it."""
