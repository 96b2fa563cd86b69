"""What is done to a question before it is searched."""
