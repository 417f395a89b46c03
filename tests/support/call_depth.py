"""Depth of the call stack between the start of a job and a method's update."""

import sys

import pytest

MOST_FRAMES = 11  # of this package, `execution.run.run` and the update among them


def depths_of_updates(method: type, monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Return a set to which each later update of the method adds its call depth within this package.

    The depth is the number of stack frames of the package; updates that run while a graph is traced are ignored.
    """
    depths, update = set(), method.update

    def watched(*arguments):
        frame, names = sys._getframe(1), []
        while frame is not None:
            names.append((frame.f_globals["__name__"], frame.f_code.co_name))
            frame = frame.f_back
        to_run = names[: names.index(("lockstep_bench.bench.execution.run", "run")) + 1]
        ours = [(module, name) for module, name in to_run if module.startswith("lockstep_bench.")]
        if ("lockstep_bench.bench.engine.graph_capture", "trace") not in ours:
            depths.add(len(ours) + 1)
        return update(*arguments)

    monkeypatch.setattr(method, "update", watched)
    return depths
