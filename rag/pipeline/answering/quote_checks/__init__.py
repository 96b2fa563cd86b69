"""What is known of the quotes of an answer, and whether they can be one."""
