"""Corrects typing errors of questions."""
