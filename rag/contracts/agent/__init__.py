"""The agent contract: an answer that is checked against its sources."""
