"""Table of the rules that translate operators to C++, for all operators that are not elementwise."""

import torch

from lockstep_bench.bench.native import arrangements, linear_algebra, reductions
from lockstep_bench.bench.native.nests import Nests
from lockstep_bench.bench.native.operation import Operation, Rule
from lockstep_bench.bench.native.values import View

aten = torch.ops.aten


def _isnan(nests: Nests, operation: Operation, view: View) -> View:
    return nests.compute("mask({0} != {0})", [view], view.shape, torch.bool)


def _log_sigmoid(nests: Nests, operation: Operation, view: View) -> list[View]:
    return [nests.compute("log_sigmoid_({0})", [view], view.shape, view.value.dtype), view]


RULES: dict[object, Rule] = {
    **reductions.RULES,
    **arrangements.RULES,
    **linear_algebra.RULES,
    aten.log_sigmoid_forward.default: _log_sigmoid,
    aten.isnan.default: _isnan,
}
