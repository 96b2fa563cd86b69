"""How well parts and sections of passages answer a question."""
