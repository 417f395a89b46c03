"""Arrays and splits from the published training and test part of an image data set.

The rows of the training part come first. All splits test on the published test part. Each split validates on a
different tenth of the training part, drawn by `held_out_splits`.
"""

import numpy as np

from lockstep_bench.datasets.records import Split
from lockstep_bench.datasets.splits import held_out_splits

N_SPLITS = 5
SEED = 1998  # the year of MNIST's paper; any fixed number would do
OWN_VALIDATION = (
    "The test rows are the published ones; the validation rows, one tenth of the train part, are this project's own."
)

Part = tuple[np.ndarray, np.ndarray]  # images (n, C, H, W), uint8, and labels (n,)


def joined(train: Part, test: Part) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    """Join the two parts and return pixels x uint8 (N, C * H * W), labels y (N,) and the splits.

    Raises:
        ValueError: pixels are not uint8.
    """
    (first, first_labels), (last, last_labels) = train, test
    if first.dtype != np.uint8 or last.dtype != np.uint8:
        raise ValueError(f"pixels should be uint8, got {first.dtype} to train on and {last.dtype} to test on")
    # Filling one array copies the pixels once, whichever order their axes have in memory.
    images = np.empty((len(first) + len(last), *first.shape[1:]), np.uint8)
    images[: len(first)] = first
    images[len(first) :] = last
    y = np.concatenate([first_labels, last_labels])
    return images.reshape(len(images), -1), y, held_out_splits(len(first), len(last), N_SPLITS, SEED)
