"""What an answer must have, by what the question asks for, and a text lacks."""
