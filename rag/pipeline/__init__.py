"""The two ways of the product: a document's way in (ingest.py) and a question's way (query.py), a step a file."""
