"""What is done to the best candidates: late interaction, other languages, headings, a reranker."""
