"""Stores and reads what the processes measure: durations, failures, slow operations, errors."""
