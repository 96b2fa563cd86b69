"""The demo data of `make run`."""

from ragsite.settings.env import env

# The password of the demo accounts that `make run` creates.
RAG_DEMO_PASSWORD = env.str("RAG_DEMO_PASSWORD", default="ragsite-demo")
# The pages of the demo data; empty for the documentation of the product.
RAG_DEMO_FOLDER = env.str("RAG_DEMO_FOLDER", default="")
