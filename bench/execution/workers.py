"""Workers: each runs one job at a time, in its own process."""

from collections.abc import Sequence
from dataclasses import dataclass

from lockstep_bench.bench.environment.machine import gpu_names


@dataclass(frozen=True)
class Worker:
    """A worker, which runs one job at a time in a separate process.

    Attributes:
        name: Unique name for display, such as "cpu 0" or "cuda:1 0".
        device: Torch's name of the device in the worker's process, which sees at most one GPU: "cpu" or "cuda".
        gpu: Name of the GPU in CUDA_VISIBLE_DEVICES; None on a CPU.
        threads: Number of threads that torch may use. With one thread, results do not depend on the number of workers.
        neighbours: Number of other workers on the same GPU, or on the same CPU cores.
    """

    name: str
    device: str = "cpu"
    gpu: str | None = None
    threads: int = 1
    neighbours: int = 0

    @property
    def exclusive(self) -> bool:
        """True if no other worker of the run uses the device, so that times are exact."""
        return self.neighbours == 0

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables of the worker's process, such as CUDA_VISIBLE_DEVICES."""
        threads = {name: str(self.threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
        return threads | ({} if self.gpu is None else {"CUDA_VISIBLE_DEVICES": self.gpu})


def workers_on(devices: Sequence[str], each: int) -> list[Worker]:
    """Return the workers for devices of this machine.

    Workers on different GPUs do not count as neighbours, although they share the CPU cores.

    Args:
        devices: Torch's names of the devices: "cpu", or "cuda:0" and so on.
        each: Number of workers per device.
    """
    if list(devices) == ["cpu"]:
        return [Worker(f"cpu {number}", neighbours=each - 1) for number in range(each)]
    named = zip(devices, gpu_names(list(devices)), strict=True)
    return [
        Worker(f"{device} {number}", "cuda", gpu, neighbours=each - 1)
        for device, gpu in named
        for number in range(each)
    ]
