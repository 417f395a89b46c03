"""Graphs are those of torch's own tracer, and torch's compiler is imported only where it is used."""

import subprocess
import sys

import pytest
import torch
from torch.func import functionalize, grad, vmap
from torch.fx.experimental import proxy_tensor

from lockstep_bench.bench.engine.private_torch import make_fx

aten = torch.ops.aten


def numbers(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def descend(weights, x, y):
    def one(weights, x, y):
        def loss(weights):
            hidden, rest = torch.split(weights, [12, 3])
            return (torch.relu(x @ hidden.view(4, 3)) @ rest - y).square().mean() * torch.tensor([2.0]).sum()

        return weights - 0.1 * grad(loss)(weights).mul_(3)

    return [vmap(one)(weights, x, y)]


ARGUMENTS = numbers(2, 15), numbers(2, 5, 4), numbers(2, 5)


def operations(module: torch.fx.GraphModule) -> list:
    return [node.target for node in module.graph.nodes if node.op == "call_function"]


def test_traced_graph_equals_that_of_torchs_make_fx():
    captured = make_fx(functionalize(descend))(*ARGUMENTS)
    expected = proxy_tensor.make_fx(functionalize(descend))(*ARGUMENTS)
    assert operations(captured) == operations(expected)
    assert torch.equal(captured(*ARGUMENTS)[0], expected(*ARGUMENTS)[0])


def test_graph_computes_the_function_on_new_arguments():
    captured = make_fx(functionalize(descend))(*ARGUMENTS)
    others = [argument.flip(-1) for argument in ARGUMENTS]
    torch.testing.assert_close(captured(*others)[0], descend(*others)[0])


def test_closed_over_tensors_become_graph_constants():
    outside = numbers(3)
    captured = make_fx(lambda x: [x + outside, outside])(torch.ones(3))
    assert operations(captured) == [aten.add.Tensor]
    total, same = captured(torch.zeros(3))
    assert torch.equal(total, outside)
    assert torch.equal(same, outside)


def test_tracing_refuses_to_read_a_tensors_value():
    with pytest.raises(RuntimeError, match="reads the value of a tensor"):
        make_fx(lambda x: [x * 2 if x.sum() > 0 else x])(torch.ones(3))


def test_tracing_gradients_does_not_import_torch_dynamo():
    program = (
        "import sys, torch, lockstep_bench.bench.engine.private_torch as private\n"
        "step = torch.func.functionalize(torch.func.grad(lambda x: x.square().sum()))\n"
        "assert private.make_fx(step)(torch.ones(3))(torch.ones(3)).tolist() == [2, 2, 2]\n"
        "assert 'torch._dynamo' not in sys.modules\n"
        "assert torch._dynamo.config.disable in (True, False)\n"
        "assert 'torch._dynamo' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_gradients_import_symbolic_shapes_only_on_demand():
    program = (
        "import sys, torch, lockstep_bench.bench.engine.private_torch\n"
        "value, pull_back = torch.func.vjp(torch.exp, torch.zeros(3))\n"
        "assert pull_back(torch.ones(3))[0].tolist() == [1, 1, 1]\n"
        "filled = torch.empty(3, 2, device='meta').masked_fill_(torch.empty(2, dtype=bool, device='meta'), 0)\n"
        "assert filled.shape == (3, 2)\n"
        "assert 'sympy' not in sys.modules\n"
        "from torch.fx.experimental.symbolic_shapes import ShapeEnv\n"
        "assert ShapeEnv.__module__ == 'torch.fx.experimental.symbolic_shapes'\n"
        "assert type(sys.modules[ShapeEnv.__module__]).__name__ == 'module'\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_pull_back_refuses_a_cotangent_of_another_size():
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        torch.func.vjp(torch.exp, torch.zeros(3))[1](torch.ones(4))
