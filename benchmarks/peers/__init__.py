"""The product beside LangChain's and LlamaIndex's stores in PostgreSQL and Chroma."""
