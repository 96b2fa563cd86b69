"""Proof that a code is exchanged by the program that asked for it (PKCE, RFC 7636), for our clients and as a client."""

import base64
import hashlib


def build_challenge(verifier: str) -> str:
    """Return the challenge of a verifier with the method S256: its SHA-256 in base64url, without padding."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
