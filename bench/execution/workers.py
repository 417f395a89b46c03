"""Places where jobs run: each runs one job at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.environment.machine import gpu_names


@dataclass(frozen=True)
class Slot:
    """Attributes:
    name: for people, and no other slot's: "cpu 0", "cuda:1 0".
    device: "cpu" or "cuda", as torch calls it inside the slot's process, which sees one GPU at most.
    gpu: the GPU that the process is shown, as CUDA_VISIBLE_DEVICES names it; None for a CPU slot.
    threads: that torch may use. One, so that a cell's arithmetic is the same however many slots there are.
    neighbours: how many other slots there are on the same GPU, or among the same cores.
    """

    name: str
    device: str = "cpu"
    gpu: str | None = None
    threads: int = 1
    neighbours: int = 0

    @property
    def exclusive(self) -> bool:
        """Whether times that are measured here are those of a device that did nothing else for this run."""
        return self.neighbours == 0

    @property
    def environment(self) -> dict[str, str]:
        """Variables that the slot's process is started with."""
        threads = {name: str(self.threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
        return threads | ({} if self.gpu is None else {"CUDA_VISIBLE_DEVICES": self.gpu})


def slots_on(devices: Sequence[str], each: int) -> list[Slot]:
    """`each` slots on every device, which torch calls "cpu", or "cuda:0" and so on.

    Neighbours are told apart by their device alone: that all GPUs are fed by the same cores is not counted.
    """
    if list(devices) == ["cpu"]:
        return [Slot(f"cpu {number}", neighbours=each - 1) for number in range(each)]
    named = zip(devices, gpu_names(list(devices)), strict=True)
    return [
        Slot(f"{device} {number}", "cuda", gpu, neighbours=each - 1) for device, gpu in named for number in range(each)
    ]
