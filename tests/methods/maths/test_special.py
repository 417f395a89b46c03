"""Special functions against torch's."""

import pytest
import torch

from lockstep_bench.methods.maths.special import log_gamma_ratio


@pytest.mark.parametrize("a", [1.0, 1.1, 2.0, 7.5, 300.0])
def test_gamma_ratio_and_derivative_equal_torch(a):
    at = torch.tensor(a, dtype=torch.float64, requires_grad=True)
    exact = torch.lgamma(at + 0.5) - torch.lgamma(at)
    assert log_gamma_ratio(at).item() == pytest.approx(exact.item(), abs=2e-8)
    (ours,), (theirs,) = (torch.autograd.grad(value, at) for value in (log_gamma_ratio(at), exact))
    assert float(ours) == pytest.approx(float(theirs), abs=1e-7)
