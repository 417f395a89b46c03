"""Where things are on the site: file names and fragments, safe for any file system and any URL."""

import hashlib
import re
from functools import cache

LONGEST = 60  # characters of a name that a file name keeps
INDEX = "index.html"


@cache  # a name is linked to from thousands of cells
def slug(name: str) -> str:
    """`name` as a part of a file name: itself where it is lower-case letters, digits and . _ -, with + for a colon.

    Any other name keeps what it can and gets a hash of the whole, so that two names never share a file, nor do names
    that differ in case alone, which some file systems cannot tell apart.
    """
    plain = re.sub(r"[^a-z0-9._+-]+", "-", name.replace(":", "+").lower())[:LONGEST]
    if plain and plain == name.replace(":", "+") and "+" not in name:
        return plain
    return f"{plain}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def suite_page(name: str) -> str:
    """File name of a suite's page."""
    return f"suite-{slug(name)}.html"


def dataset_page(name: str) -> str:
    """File name of a data set's page."""
    return f"dataset-{slug(name)}.html"


def method_page(name: str) -> str:
    """File name of a method's page."""
    return f"method-{slug(name)}.html"


def fragment(*names: str) -> str:
    """An id for what is called by these names in this order."""
    return "~".join(map(slug, names))  # a character that no slug has
