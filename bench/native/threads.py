"""Division of the work of a compiled library among threads."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch


def in_threads(n_blocks: int, run: Callable[[int, int], None]) -> None:
    """Call `run` for ranges of blocks, first and end, with as many threads as torch uses, at most one for a block."""
    n_threads = min(torch.get_num_threads(), n_blocks)
    bounds = np.linspace(0, n_blocks, n_threads + 1).astype(int).tolist()
    if n_threads == 1:
        run(0, n_blocks)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(run, bounds[:-1], bounds[1:]))
