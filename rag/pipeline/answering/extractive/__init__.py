"""Answers without a language model: what passages offer as an answer, chosen and rendered."""
