"""The workers of a cluster that may be given jobs, each with as many slots as it has threads."""

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench.execution.cluster.identity import Identity, asking, identity
from bench.execution.cluster.remote import Needs, lacking
from bench.execution.workers import Slot

POLL_SECONDS = 0.2
NO_GPU = ("", "-1", "NoDevFiles")


@dataclass(frozen=True)
class Member:
    """A worker that runs this code and has what jobs need.

    Attributes:
        address: the worker's; another worker may come to have it.
        id: the worker's own.
        host: its machine's name.
        gpu: the first of its CUDA_VISIBLE_DEVICES, None without.
        threads: how many jobs it runs at a time.
    """

    address: str
    id: str
    host: str
    gpu: str | None
    threads: int

    @property
    def device(self) -> tuple[str, str | None]:
        """What it shares with its neighbours: the cores of its host, or a GPU there."""
        return self.host, self.gpu

    def names(self) -> list[str]:
        """Of its slots."""
        return [f"{self.host} {self.address.rpartition(':')[2]} {number}" for number in range(self.threads)]

    def slot(self, name: str, all_members: Mapping[str, "Member"]) -> Slot:
        """The slot of that name, among all members there are now."""
        slots = Counter()
        for member in all_members.values():
            slots[member.device] += member.threads
        device = "cpu" if self.gpu is None else "cuda"
        return Slot(name, device, self.gpu, neighbours=slots[self.device] - 1)


def admitted(client: Any, workers: Mapping[str, Mapping[str, Any]], needs: Needs) -> tuple[list[Member], list[str]]:
    """Which of `workers`, as the scheduler describes them, can be given jobs, and why the others cannot."""
    mine, members, refusals = identity(), [], []
    versions = client.get_versions()["workers"]
    pythons = {address: ".".join(versions[address]["host"]["python"].split(".")[:2]) for address in versions}
    strange = {address for address in workers if pythons.get(address, mine.python) != mine.python}
    for address in strange:
        refusals.append(f"worker {address} has Python {pythons[address]}, and here is {mine.python}")
    askable = [address for address in workers if address not in strange]
    answers = client.run(asking(), workers=askable, on_error="return") if askable else {}
    for address, answer in answers.items():
        if isinstance(answer, Identity):
            problem = answer.differs(mine)
            where = f"worker {address} on {answer.host}"
        else:
            where, problem = f"worker {address}", f"it has no lockstep-bench that knows of clusters ({answer})"
        if problem:
            refusals.append(f"{where} is refused: {problem}")
            continue
        gpu = answer.gpus.split(",")[0].strip()
        described = workers[address]
        members.append(
            Member(address, described["id"], answer.host, None if gpu in NO_GPU else gpu, described["nthreads"])
        )
    return _equipped(client, members, needs, refusals), refusals


def _equipped(client: Any, members: list[Member], needs: Needs, refusals: list[str]) -> list[Member]:
    asked = [
        client.submit(lacking, needs, workers=[member.address], allow_other_workers=False, pure=False)
        for member in members
    ]
    equipped = []
    for member, future in zip(members, asked, strict=True):
        problems = _answer(client, member, future)
        if problems is None:
            continue
        refusals += [f"worker {member.address} on {member.host} lacks {problem}" for problem in problems]
        if not problems:
            equipped.append(member)
    return equipped


def _answer(client: Any, member: Member, future: Any) -> list[str] | None:
    """What it lacks, or None if it is lost before it says so: nobody else may answer, so the future would wait."""
    while not future.done():
        time.sleep(POLL_SECONDS)
        there = client.scheduler_info(n_workers=-1)["workers"]
        if there.get(member.address, {}).get("id") != member.id:
            future.cancel()
            return None
    return future.result()
