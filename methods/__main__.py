"""`python -m methods`: runs `lockstep_bench.commands.methods`, which stands above this package, as checks train."""

from runpy import run_module

if __name__ == "__main__":
    run_module("lockstep_bench.commands.methods", run_name="__main__", alter_sys=True)
