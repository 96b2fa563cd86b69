"""Checks written answers against their sources, sentence by sentence, after generation."""
