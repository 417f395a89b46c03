"""Sets of images: uint8 pixels, published test parts, out-of-distribution partners.

Imports `datasets.records` and `datasets.splits`.
"""

from functools import cache

from lockstep_bench.datasets.images import aptos, cifar, huggingface, idx, stl10, svhn
from lockstep_bench.datasets.records import Source


@cache
def sources() -> tuple[Source, ...]:
    """Return the descriptions of all sets of images, smaller and older sets first."""
    return (
        *idx.sources(),
        *cifar.sources(),
        svhn.SOURCE,
        stl10.SOURCE,
        huggingface.CIFAR10_JPEG,
        aptos.SOURCE,
    )
