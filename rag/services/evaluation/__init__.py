"""Retrieval quality on golden questions, and the calibration of evidence scores."""
