"""The functional optimisers against torch.optim."""

from functools import partial

import pytest
import torch

from lockstep_bench.methods.problem import Step
from lockstep_bench.methods.training.optim import MOMENTUM, SGD, Adam, Momentum


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(Adam, torch.optim.Adam), (SGD, torch.optim.SGD), (Momentum, partial(torch.optim.SGD, momentum=MOMENTUM))],
    ids=["adam", "sgd", "momentum"],
)
def test_optimiser_steps_equal_torch_optim(ours, theirs):
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(4, generator=generator, dtype=torch.float64)
    gradients = torch.randn(50, 4, generator=generator, dtype=torch.float64)

    parameter = torch.nn.Parameter(start.clone())
    optimizer = theirs([parameter], lr=0.03)
    params, state = start, ours.init(start)
    for number, gradient in enumerate(gradients, start=1):
        parameter.grad = gradient.clone()
        optimizer.step()
        count = torch.tensor(float(number), dtype=torch.float64)
        params, state = state.step(params, gradient, torch.tensor(0.03, dtype=torch.float64), Step(count, None))
        torch.testing.assert_close(params, parameter.detach(), rtol=1e-12, atol=1e-12)
