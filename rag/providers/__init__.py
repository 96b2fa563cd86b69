"""What the product asks of the outside: embedding models, vector stores. A short file each, behind base.py."""
