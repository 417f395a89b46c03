"""Seeds by hash of what should vary: independent of order, of workers and of what else runs."""

import hashlib


def seed_of(*parts: str | int) -> int:
    """Return a 63-bit seed that follows from the parts, equal on every machine and Python version."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1
