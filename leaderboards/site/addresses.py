"""File names of the site's pages, and ids of their elements, which are safe on any file system and in any URL."""

import hashlib
import re
from functools import cache

LONGEST = 60  # characters of a name that a file name keeps
INDEX = "index.html"
REPLICATIONS = "replications.html"
POWER = "power.html"
FINDINGS = "findings.html"
COMPARE = "compare.html"
EQUAL_SECONDS = "equal-seconds.html"
FACTORS = "factors.html"
FAITHFULNESS = "faithfulness.html"
AUDIT = "data-audit.html"


@cache  # a name is linked to from thousands of cells
def slug(name: str) -> str:
    """Return a name as part of a file name.

    A name of lower-case letters, digits and . _ - stays as it is, with + for a colon. Any other name keeps its allowed
    characters and gets a hash of the whole. Two names therefore never share a file, even if they differ only in case,
    which some file systems ignore.
    """
    plain = re.sub(r"[^a-z0-9._+-]+", "-", name.replace(":", "+").lower())[:LONGEST]
    if plain and plain == name.replace(":", "+") and "+" not in name:
        return plain
    return f"{plain}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def suite_page(name: str) -> str:
    """Return the file name of a suite's page."""
    return f"suite-{slug(name)}.html"


def dataset_page(name: str) -> str:
    """Return the file name of a data set's page."""
    return f"dataset-{slug(name)}.html"


def method_page(name: str) -> str:
    """Return the file name of a method's page."""
    return f"method-{slug(name)}.html"


def further_page(page: str, number: int) -> str:
    """Return the file name of continuation page `number` of a page, counted from 1."""
    return f"{page.removesuffix('.html')}~{number}.html"  # a character that no slug has


def fragment(*names: str) -> str:
    """Return the id of an HTML element that is identified by names, such as those of a method and a metric."""
    return "~".join(map(slug, names))  # a character that no slug has
