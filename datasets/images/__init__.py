"""Sets of images: uint8 pixels, published test parts, other sets to be told apart from.

Imports `datasets.records` and `datasets.splits`.
"""

from functools import cache

from datasets.images import aptos, cifar, huggingface, idx, stl10, svhn
from datasets.records import Source


@cache
def sources() -> tuple[Source, ...]:
    """All of them, those that are smaller and older first."""
    return (
        *idx.sources(),
        *cifar.sources(),
        svhn.SOURCE,
        stl10.SOURCE,
        huggingface.CIFAR10_JPEG,
        aptos.SOURCE,
    )
