"""Measurement of peak memory, on CPU and GPU."""

from collections.abc import Callable
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import Any

import psutil
import torch
from torch.profiler import ProfilerActivity, profile

STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def reset_peak(device: torch.device) -> None:
    """Reset the peak that `peak_mib` returns; does nothing for CPU memory on other systems than Linux."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    else:
        with suppress(OSError):
            RESET.write_text("5")


def peak_mib(device: torch.device) -> float:
    """Return the peak memory since `reset_peak`, MiB.

    On a GPU this is the memory of tensors, on a CPU the resident memory of this process. On Windows it is the peak
    since the process started. On macOS, which keeps no peak, it is the current memory.
    """
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    if STATUS.exists():
        (line,) = (line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 2**10
    memory = psutil.Process().memory_info()
    return getattr(memory, "peak_wset", memory.rss) / 2**20


def peak_during(call: Callable[[], Any], device: torch.device) -> tuple[Any, int]:
    """Run `call`; return its result and the peak memory in bytes of the tensors that it allocated.

    torch's CPU allocator keeps no count; there the peak is computed from the profiler's record of allocations.
    """
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        reset_peak(device)
        before = torch.cuda.memory_allocated(device)
        result = call()
        torch.cuda.synchronize(device)
        return result, torch.cuda.max_memory_allocated(device) - before
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        result = call()
    events = [event for event in recorded.profiler.kineto_results.events() if event.name() == "[memory]"]
    changes = (event.nbytes() for event in sorted(events, key=lambda event: event.start_ns()))
    return result, max(accumulate(changes), default=0)
