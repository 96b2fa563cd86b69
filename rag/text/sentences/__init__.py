"""Splits texts into sentences and other units that can be quoted."""
