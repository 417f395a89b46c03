"""Peak memory sees a large array come and go."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from lockstep_bench.bench.environment.memory import peak_during

CPU = torch.device("cpu")
ROOT = Path(__file__).parents[3]


PEAKS = """
import torch
from lockstep_bench.bench.environment.memory import peak_mib, reset_peak

cpu = torch.device("cpu")
reset_peak(cpu)
print(peak_mib(cpu))
torch.ones(64, 2**20)  # 256 MiB
print(peak_mib(cpu))
reset_peak(cpu)
print(peak_mib(cpu))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can reset the peak of a process")
def test_peak_memory_includes_freed_memory_until_reset():
    # A process of its own, because others' tests change how the C library keeps freed memory.
    told = subprocess.run([sys.executable, "-c", PEAKS], capture_output=True, text=True, check=True, cwd=ROOT)
    before, during, after = map(float, told.stdout.split())
    assert 250 < during - before < 300
    assert after < during - 200


def test_peak_of_a_call_counts_simultaneous_tensors():
    vector = torch.ones(2**18)  # 1 MiB

    def call():
        first = 2 * vector
        second = 3 * first
        del first
        return 4 * second  # three vectors have been made, and two were there at any time

    result, peak = peak_during(call, CPU)
    assert torch.equal(result, 24 * vector)
    assert 2 * vector.nbytes <= peak < 2 * vector.nbytes + 1000  # the factors are tensors too


def test_peak_of_a_gradient_includes_saved_activations():
    vector = torch.ones(2**18)
    gradient, peak = peak_during(lambda: torch.func.grad(lambda one: one.exp().sum())(vector), CPU)
    assert 2 * vector.nbytes <= peak < 2 * vector.nbytes + 1000  # the exponential is kept until the gradient is there
    torch.testing.assert_close(gradient, vector.exp())
