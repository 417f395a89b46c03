"""A clock for work on a device."""

import time

import torch


def now(device: torch.device) -> float:
    """Return the time of a clock in seconds, after the device has finished all queued work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()
