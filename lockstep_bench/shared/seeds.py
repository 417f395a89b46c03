"""Seeds as hashes of names and numbers, independent of the order of work and the number of worker processes."""

import hashlib


def seed_of(*parts: str | int) -> int:
    """Return a 63-bit seed, a hash of the parts; it is the same on every machine and Python version."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1
