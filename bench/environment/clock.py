"""A clock for work on a device."""

import time

import torch


def now(device: torch.device) -> float:
    """Return the seconds of a clock, after the device has finished all work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()
