"""Adapters of models, chunk stores, files and synced locations, and the limits of calls to them.

Each kind is behind a protocol: models in base.py, stores in stores/base.py, locations in connectors/base.py.
"""
