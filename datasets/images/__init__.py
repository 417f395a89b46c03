"""Image data sets: uint8 pixels, the published test sets, and other data sets for out-of-distribution tests.

Imports allowed here: `datasets.records` and `datasets.splits`.
"""

from functools import cache

from lockstep_bench.datasets.images import aptos, cifar, huggingface, idx, stl10, svhn
from lockstep_bench.datasets.records import Source


@cache
def sources() -> tuple[Source, ...]:
    """Return the descriptions of all image data sets, smaller and older ones first."""
    return (
        *idx.sources(),
        *cifar.sources(),
        svhn.SOURCE,
        stl10.SOURCE,
        huggingface.CIFAR10_JPEG,
        aptos.SOURCE,
    )
