"""Check that modules of a checkout are imported under their full name, `lockstep_bench.methods`, never `methods`."""

import sys

COMMANDS = (
    "`python -m benchmarks.speed`, `.overhead`, `.stream_memory`, `python -m leaderboards edges`, or "
    "`python -m lockstep_bench rescore`"
)


def require_full_name(name: str) -> None:
    """Raise an error if a package of a checkout is imported by the name of its folder, without `lockstep_bench.`.

    Two names would give two copies of each class, and `datasets` is also Hugging Face's. `python -m methods` is
    allowed: while Python looks for the module, `sys.argv[0]` is "-m". `bench` has no commands.

    Args:
        name: `__name__` of a package's `__init__.py`.

    Raises:
        ImportError: the name does not begin with `lockstep_bench.`.
    """
    if sys.argv[:1] == ["-m"]:
        if name == "bench":
            raise ImportError(f"'bench' has no commands: write {COMMANDS}")
    elif not name.startswith("lockstep_bench."):
        raise ImportError(f"'{name}' is imported as 'lockstep_bench.{name}': write `from lockstep_bench import {name}`")
