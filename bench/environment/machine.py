"""Resources of this machine: cores, free memory, names of GPUs."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

VMSTAT = Path("/proc/vmstat")
CGROUPS, PROCESS_CGROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
# Files with a group's limit and its use, and the line of memory.stat that counts reclaimable bytes.
UNIFIED = ("memory.max", "memory.current", "inactive_file")
LEGACY = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


class Machine(NamedTuple):
    """Resources that this process may use.

    Attributes:
        cores: number of CPU cores.
        free_bytes: free main memory, under the limits of the machine and of the process's Linux control groups.
    """

    cores: int
    free_bytes: int


def this_machine() -> Machine:
    """Return the number of CPU cores that this process may use, and the main memory that is free now."""
    import joblib
    import psutil

    return Machine(joblib.cpu_count(), min([psutil.virtual_memory().available, *free_of_cgroups()]))


def memory_kills(counters: Path = VMSTAT) -> int:
    """Return how many processes Linux has killed for lack of memory since the machine started; 0 on other systems.

    Args:
        counters: file with the kernel's counters.
    """
    try:
        lines = counters.read_text().splitlines()
    except OSError:  # not on Linux
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))


def free_of_cgroups(root: Path = CGROUPS, groups: Path = PROCESS_CGROUPS) -> list[int]:
    """Return the free memory in bytes of each Linux control group of this process that has a memory limit.

    Memory that a group uses as file cache counts as free.

    Args:
        root: mount point of the control groups.
        groups: file that lists the groups of this process.
    """
    return list(_free_bytes(root, groups))


def _free_bytes(root: Path, groups: Path) -> Iterator[int]:
    try:
        lines = [line.split(":", 2) for line in groups.read_text().splitlines()]
    except OSError:  # not on Linux
        return
    for _, controllers, path in (line for line in lines if len(line) == 3):
        if controllers and "memory" not in controllers.split(","):
            continue
        top, names = (root / "memory", LEGACY) if controllers else (root, UNIFIED)
        group = top / path.strip("/")
        for folder in dict.fromkeys((group, *(parent for parent in group.parents if parent.is_relative_to(top)), top)):
            if (free := _free_bytes_in(folder, *names)) is not None:
                yield free


def _free_bytes_in(folder: Path, limit: str, used: str, cache: str) -> int | None:
    try:
        most, now = (folder / limit).read_text().strip(), int((folder / used).read_text())
        counts = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return None if most == "max" else max(0, int(most) - now + int(counts.get(cache, 0)))
    except (OSError, ValueError):
        return None


def gpu_names(devices: list[str]) -> list[str]:
    """Return the values for CUDA_VISIBLE_DEVICES that select torch devices such as "cuda:0".

    These are the names in the variable's current value, if it is set, and otherwise the devices' numbers.
    """
    shown = [name.strip() for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name.strip()]
    numbers = [int(device.removeprefix("cuda:")) for device in devices]
    return [shown[number] if shown else str(number) for number in numbers]
