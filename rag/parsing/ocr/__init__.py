"""Text recognition in pictures: finds lines of text, recognises them and orders them. Runs in the sandbox."""
