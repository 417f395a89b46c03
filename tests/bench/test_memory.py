"""Peak memory sees a large array come and go."""

import sys

import pytest
import torch

from bench.memory import peak_mib, reset_peak

CPU = torch.device("cpu")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can reset the peak of a process")
def test_the_peak_counts_what_was_freed_and_can_be_reset():
    reset_peak(CPU)
    before = peak_mib(CPU)
    torch.ones(64, 2**20)  # 256 MiB
    during = peak_mib(CPU)
    assert 250 < during - before < 300
    reset_peak(CPU)
    assert peak_mib(CPU) < during - 200
