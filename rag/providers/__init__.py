"""Adapters of embedding models, language models, rerankers, entailment models and chunk stores.

They are behind the protocols of base.py.
"""
