"""Tesseract, an optional program that reads scripts which the built-in models do not know."""
