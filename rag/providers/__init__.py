"""Adapters of embedding models, language models, rerankers and chunk stores, behind the protocols of base.py."""
