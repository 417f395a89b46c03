"""The Dask workers that may be given jobs; each offers as many workers as it has threads."""

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lockstep_bench.bench.execution.cluster.identity import Identity, identity, identity_function
from lockstep_bench.bench.execution.cluster.remote import Needs, missing_needs
from lockstep_bench.bench.execution.workers import Worker

POLL_SECONDS = 0.2
NO_GPU = ("", "-1", "NoDevFiles")


@dataclass(frozen=True)
class DaskWorker:
    """A Dask worker that runs this code and has what jobs need.

    Attributes:
        address: Its address, which another Dask worker may get later.
        id: Identifier that no other Dask worker ever gets.
        host: Name of its machine.
        gpu: The first of its CUDA_VISIBLE_DEVICES; None without a GPU.
        threads: Jobs that it runs at a time.
    """

    address: str
    id: str
    host: str
    gpu: str | None
    threads: int

    @property
    def device(self) -> tuple[str, str | None]:
        """The device that it shares with its neighbours: the cores of its host, or a GPU there."""
        return self.host, self.gpu

    def names(self) -> list[str]:
        """Return the names of its workers."""
        return [f"{self.host} {self.address.rpartition(':')[2]} {number}" for number in range(self.threads)]

    def worker(self, name: str, members: Mapping[str, "DaskWorker"]) -> Worker:
        """Return its worker of that name, given all Dask workers there are."""
        n_workers: Counter[tuple[str, str | None]] = Counter()
        for member in members.values():
            n_workers[member.device] += member.threads
        device = "cpu" if self.gpu is None else "cuda"
        return Worker(name, device, self.gpu, neighbours=n_workers[self.device] - 1)


def admitted(
    client: Any, dask_workers: Mapping[str, Mapping[str, Any]], needs: Needs
) -> tuple[list[DaskWorker], list[str]]:
    """Return the Dask workers that can be given jobs, and why the others cannot.

    Args:
        client: A `distributed.Client`.
        dask_workers: The scheduler's description of each, by address.
        needs: What the jobs need.
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
    answers = client.run(identity_function(), workers=askable, on_error="return") if askable else {}
    for address, answer in answers.items():
        if isinstance(answer, Identity):
            problem = answer.differs(expected)
            where = f"worker {address} on {answer.host}"
        else:
            where, problem = f"worker {address}", f"it has no lockstep-bench that knows of clusters ({answer})"
        if problem:
            refusals.append(f"{where} is refused: {problem}")
            continue
        gpu = answer.gpus.split(",")[0].strip()
        described = dask_workers[address]
        members.append(
            DaskWorker(address, described["id"], answer.host, None if gpu in NO_GPU else gpu, described["nthreads"])
        )
    equipped, lacks = _equipped(client, members, needs)
    return equipped, refusals + lacks


def _equipped(client: Any, members: list[DaskWorker], needs: Needs) -> tuple[list[DaskWorker], list[str]]:
    """Return the Dask workers that have what is needed, and what the others lack."""
    asked = [
        client.submit(missing_needs, needs, workers=[member.address], allow_other_workers=False, pure=False)
        for member in members
    ]
    equipped: list[DaskWorker] = []
    refusals: list[str] = []
    for member, future in zip(members, asked, strict=True):
        problems = _answer(client, member, future)
        if problems is None:
            continue
        refusals += [f"worker {member.address} on {member.host} lacks {problem}" for problem in problems]
        if not problems:
            equipped.append(member)
    return equipped, refusals


def _answer(client: Any, member: DaskWorker, future: Any) -> list[str] | None:
    """Return what a Dask worker lacks, or None if it is lost before it answers."""
    while not future.done():
        time.sleep(POLL_SECONDS)
        present = client.scheduler_info(n_workers=-1)["workers"]
        if present.get(member.address, {}).get("id") != member.id:
            future.cancel()
            return None
    problems: list[str] = future.result()
    return problems
