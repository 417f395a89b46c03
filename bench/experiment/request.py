"""The user's request, from the command line, and the error for a request that cannot be met."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lockstep_bench.shared.protocol import Value


class InvalidRequest(ValueError):
    """A request that cannot be met. The message says what was given, what is allowed, and what to do."""


@dataclass(frozen=True)
class Request:
    """The user's request on the command line.

    Attributes:
        suite, preset: names of the suite and of the preset.
        methods, datasets: names of methods and data sets; None for all of the suite.
        splits: split numbers; None for those of the preset.
        changes: fields of the preset's `Protocol` to change, with their values.
        seed: seed of the whole run.
        options: options of methods, each "METHOD:NAME=VALUE".
        replication: table or figure of a paper (entry of `shared.papers`) that this request replicates. Its results
            have this name as their preset. "" for none.
    """

    suite: str
    preset: str
    methods: Sequence[str] | None
    datasets: Sequence[str] | None
    splits: Sequence[int] | None
    changes: Mapping[str, Value]
    seed: int
    options: Sequence[str] = ()
    replication: str = ""


def known(kind: str, name: str, allowed: Sequence[str], fault: str = "is unknown") -> str:
    """Return `name` if it is allowed; otherwise raise `InvalidRequest` and suggest the nearest allowed name."""
    if name in allowed:
        return name
    near = difflib.get_close_matches(name, allowed, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    raise InvalidRequest(f"{kind} {name!r} {fault}{hint} Allowed: {', '.join(allowed)}")
