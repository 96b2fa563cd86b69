"""Slides of presentations."""
