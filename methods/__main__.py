"""`python -m methods`: runs the command line in `lockstep_bench.commands.methods`.

The command line lies outside this package because its command `check` trains methods with `bench`, which `methods` must
not import.
"""

from runpy import run_module

if __name__ == "__main__":
    run_module("lockstep_bench.commands.methods", run_name="__main__", alter_sys=True)
