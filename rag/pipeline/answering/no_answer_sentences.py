"""The fixed sentences that users receive if no answer was found. They are English, like all texts of the contracts."""

# The passages do not contain the answer (pipeline contract, sub-contract 2).
NO_ANSWER = "The sources do not contain the answer to this question."
# The passages may contain the answer, but probably do not: the closest one follows.
UNCLEAR_ANSWER = "No passage clearly answers this question."
# Retrieval confidence is low; the text is fixed by the retrieval contract, endpoint 2.
LOW_CONFIDENCE = (
    "I don't have enough relevant information to answer this question confidently. "
    "Here are the most relevant sources I found:"
)
# The agent has found no passage (agent contract).
AGENT_FOUND_NOTHING = "The sources contain nothing that answers this question."
# A chat has found no passage, and no language model is configured (v3 contract, 2.3).
CHAT_FOUND_NOTHING = "The sources do not contain anything about this question."
