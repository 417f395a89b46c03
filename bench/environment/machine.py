"""What this machine has to offer: cores, free memory, GPUs. The one place that asks the system."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

CGROUPS, OWN_CGROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
UNIFIED = ("memory.max", "memory.current", "inactive_file")  # files, and the line of memory.stat that can be reclaimed
LEGACY = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


class Machine(NamedTuple):
    """Attributes:
    cores: that this process may use.
    free_bytes: of main memory that it may still take, by the whole machine and by its control groups.
    """

    cores: int
    free_bytes: int


def this_machine() -> Machine:
    """The machine that this runs on, now."""
    import joblib
    import psutil

    return Machine(joblib.cpu_count(), min([psutil.virtual_memory().available, *free_of_cgroups()]))


def free_of_cgroups(root: Path = CGROUPS, own: Path = OWN_CGROUPS) -> list[int]:
    """Bytes that each control group with a limit, of those that this process is in, has left.

    What a group holds as a cache of files counts as free.
    """
    return list(_left(root, own))


def _left(root: Path, own: Path) -> Iterator[int]:
    try:
        lines = [line.split(":", 2) for line in own.read_text().splitlines()]
    except OSError:  # no Linux
        return
    for _, controllers, path in (line for line in lines if len(line) == 3):
        if controllers and "memory" not in controllers.split(","):
            continue
        top, names = (root / "memory", LEGACY) if controllers else (root, UNIFIED)
        here = top / path.strip("/")
        for folder in dict.fromkeys((here, *(one for one in here.parents if one.is_relative_to(top)), top)):
            if (left := _left_in(folder, *names)) is not None:
                yield left


def _left_in(folder: Path, limit: str, used: str, cache: str) -> int | None:
    try:
        most, now = (folder / limit).read_text().strip(), int((folder / used).read_text())
        counts = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return None if most == "max" else max(0, int(most) - now + int(counts.get(cache, 0)))
    except (OSError, ValueError):
        return None


def gpu_names(devices: list[str]) -> list[str]:
    """What CUDA_VISIBLE_DEVICES calls torch's devices "cuda:0", "cuda:2": numbers, or what it was set to before."""
    shown = [name.strip() for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name.strip()]
    numbers = [int(device.removeprefix("cuda:")) for device in devices]
    return [shown[number] if shown else str(number) for number in numbers]
