"""Dask workers that may run jobs; each of them counts as one worker per thread."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lockstep_bench.bench.execution.cluster.identity import identity, question
from lockstep_bench.bench.execution.cluster.remote import Needs
from lockstep_bench.bench.execution.workers import Worker

NO_GPU = ("", "-1", "NoDevFiles")


@dataclass(frozen=True)
class DaskWorker:
    """A Dask worker that runs the same code and has the data and methods that the jobs need.

    Attributes:
        address: Network address, which another Dask worker may get later.
        id: Identifier, which no other Dask worker ever gets.
        host: Name of the machine.
        gpu: First GPU in CUDA_VISIBLE_DEVICES; None without a GPU.
        threads: Number of jobs that the Dask worker runs at a time.
    """

    address: str
    id: str
    host: str
    gpu: str | None
    threads: int

    @property
    def device(self) -> tuple[str, str | None]:
        """Host and GPU of this Dask worker; None for the GPU if jobs run on the CPU."""
        return self.host, self.gpu

    def names(self) -> list[str]:
        """Return the names of the workers in this Dask worker, one for each thread."""
        return [f"{self.host} {self.address.rpartition(':')[2]} {number}" for number in range(self.threads)]

    def worker(self, name: str, members: Mapping[str, "DaskWorker"]) -> Worker:
        """Return the worker `name` of this Dask worker.

        Args:
            name: One of `names()`.
            members: All Dask workers; those on the same device are counted as neighbours.
        """
        n_workers: Counter[tuple[str, str | None]] = Counter()
        for member in members.values():
            n_workers[member.device] += member.threads
        device = "cpu" if self.gpu is None else "cuda"
        return Worker(name, device, self.gpu, neighbours=n_workers[self.device] - 1)


def admitted(
    client: Any, dask_workers: Mapping[str, Mapping[str, Any]], needs: Needs
) -> tuple[list[DaskWorker], list[str]]:
    """Return the Dask workers that can run the jobs, and the reasons why the others cannot.

    Args:
        client: A `distributed.Client`.
        dask_workers: The scheduler's description of each Dask worker, by address.
        needs: Data and methods that the jobs need.
    """
    expected = identity()
    members: list[DaskWorker] = []
    refusals: list[str] = []
    versions = client.get_versions()["workers"]
    pythons = {address: ".".join(versions[address]["host"]["python"].split(".")[:2]) for address in versions}
    other_python = {address for address in dask_workers if pythons.get(address, expected.python) != expected.python}
    for address in other_python:
        refusals.append(f"worker {address} has Python {pythons[address]}, and here is {expected.python}")
    askable = [address for address in dask_workers if address not in other_python]
    answers = client.run(question(needs, expected), workers=askable, on_error="return") if askable else {}
    for address, answer in answers.items():
        if isinstance(answer, OSError):  # it is lost
            continue
        if not isinstance(answer, tuple):
            refusals.append(f"worker {address} is refused: it has no lockstep-bench that knows of clusters ({answer})")
            continue
        host, gpus, problems = answer
        refusals += [f"worker {address} on {host} {problem}" for problem in problems]
        if not problems:
            gpu, described = gpus.split(",")[0].strip(), dask_workers[address]
            of_gpu = None if gpu in NO_GPU else gpu
            members.append(DaskWorker(address, described["id"], host, of_gpu, described["nthreads"]))
    return members, refusals
