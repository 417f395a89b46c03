"""Peak memory of the work between two moments."""

from contextlib import suppress
from pathlib import Path

import psutil
import torch

STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def reset_peak(device: torch.device) -> None:
    """Start measuring anew, where the system allows it: on a GPU, and for a process on Linux."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    else:
        with suppress(OSError):
            RESET.write_text("5")


def peak_mib(device: torch.device) -> float:
    """Peak memory since `reset_peak`, MiB: allocated on a GPU, else resident of this process.

    Windows counts the process's whole life, and macOS, which keeps no peak, what is resident now.
    """
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    if STATUS.exists():
        (line,) = (line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 2**10
    memory = psutil.Process().memory_info()
    return getattr(memory, "peak_wset", memory.rss) / 2**20
