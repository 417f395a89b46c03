"""Native forms of operators against torch itself, one replica after the other."""

import pytest
import torch
from torch import Tensor

from lockstep_bench.bench.native.operators import COMPARE, COPIES, ELEMENTWISE, SHAPE_ONLY, VIEWS
from lockstep_bench.bench.native.rules import RULES

aten = torch.ops.aten
R = 19
INF, NAN = float("inf"), float("nan")


def numbers(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return normal numbers (R, *shape)."""
    return torch.randn(R, *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def special() -> Tensor:
    """Return numbers (R, 12) with infinities, NaN, zeros of both signs and large numbers in each replica."""
    edge = torch.tensor([INF, -INF, NAN, 0.0, -0.0, 1.0, -1.0, 3e38, -3e38, 20.5, 1e-20, 88.0])
    return torch.stack([edge.roll(number) for number in range(R)])


A, B, C = (numbers(3, 4, seed=seed) for seed in range(3))
POSITIVE, PART = A.abs() + 0.1, torch.sigmoid(B)
ROW, COLUMN, SCALAR = numbers(4, seed=3), numbers(3, 1, seed=4), numbers(seed=5)
CUBE = numbers(2, 3, 4, seed=6)
DOUBLE = numbers(3, 4, seed=7, dtype=torch.float64)
WHOLE = torch.randint(-3, 4, (R, 3, 4), generator=torch.Generator().manual_seed(0))
MASK, OTHER_MASK = A > 0, B > 0.3
SQUARE = numbers(4, 4, seed=8)
SPD = SQUARE @ SQUARE.mT + torch.eye(4)
EDGE = special()
TALL = numbers(6, 3, seed=9)

# name: function of tensors of one replica, and the tensors (R, ...)
ELEMENTWISE_CASES = {
    **{
        name: (getattr(torch, name), A)
        for name in (
            "neg",
            "square",
            "exp",
            "expm1",
            "abs",
            "sign",
            "sgn",
            "tanh",
            "sigmoid",
            "erf",
            "cos",
            "sin",
            "floor",
        )
    },
    **{name: (getattr(torch, name), POSITIVE) for name in ("reciprocal", "rsqrt", "log", "log1p", "sqrt", "round")},
    "ndtr": (torch.special.ndtr, A),
    "ndtri": (torch.special.ndtri, PART),
    **{
        f"{name} of doubles": (getattr(torch, name), DOUBLE)
        for name in ("neg", "exp", "abs", "sign", "tanh", "sigmoid", "erf", "floor", "ceil", "round", "relu")
    },
    "mul": (torch.mul, A, B),
    "mul by a number": (lambda a: a * 2.5, A),
    "mul.Scalar": (lambda a: aten.mul.Scalar(a, 2.5), A),
    "mul of types": (torch.mul, A, DOUBLE),
    "mul by a scalar of doubles": (lambda a, s: a * s.double(), A, SCALAR),
    "mul of masks": (lambda a, b: a * b, MASK, OTHER_MASK),
    "mul by mask": (torch.mul, A, MASK),
    "div": (torch.div, A, POSITIVE),
    "div of whole numbers": (lambda a, b: a / (b + 10), WHOLE, WHOLE),
    "div.Scalar": (lambda a: aten.div.Scalar(a, 3.0), A),
    "div of a number": (lambda a: 2.0 / a, POSITIVE),
    "add row": (torch.add, A, ROW),
    "add column": (torch.add, COLUMN, A),
    "add scalar": (torch.add, SCALAR, A),
    "add outer": (torch.add, COLUMN, ROW),
    "add.Scalar": (lambda a: aten.add.Scalar(a, 3.0, 2), A),
    "add of masks": (lambda a, b: a + b, MASK, OTHER_MASK),
    "add times": (lambda a, b: torch.add(a, b, alpha=-0.3), A, B),
    "add whole numbers": (lambda a, b: torch.add(a, b, alpha=3), WHOLE, WHOLE),
    "add whole number and mask": (torch.add, WHOLE, MASK),
    "sub": (torch.sub, A, COLUMN),
    "sub times": (lambda a, b: torch.sub(a, b, alpha=0.7), A, B),
    "sub.Scalar": (lambda a: aten.sub.Scalar(a, 3.0, 2), A),
    "rsub": (lambda a: aten.rsub.Scalar(a, 1.5), A),
    "rsub times": (lambda a: aten.rsub.Scalar(a, 1.5, 2), A),
    "addcmul": (lambda a, b, c: torch.addcmul(a, b, c, value=0.7), A, B, ROW),
    "addcdiv": (lambda a, b, c: torch.addcdiv(a, b, c, value=-0.7), A, B, POSITIVE),
    "lerp": (lambda a, b: torch.lerp(a, b, 0.1), A, B),
    "lerp near the end": (lambda a, b: torch.lerp(a, b, 0.9), A, B),
    **{f"pow {p}": (lambda a, p=p: a**p, POSITIVE) for p in (0, 1, 2, 3, 0.5, -1, -2, -0.5, 1.7, 4, -3)},
    **{f"pow {p} of negatives": (lambda a, p=p: a**p, A) for p in (3, 4, -3)},
    "pow of whole numbers": (lambda a: a**2, WHOLE),
    "pow of tensors": (torch.pow, POSITIVE, A),
    "maximum": (torch.maximum, A, ROW),
    "minimum": (torch.minimum, A, COLUMN),
    "maximum of masks": (torch.maximum, MASK, OTHER_MASK),
    "minimum of masks": (torch.minimum, MASK, OTHER_MASK),
    "chosen by product of masks": (lambda a, b: torch.where(a * b, 1.0, 2.0), MASK, OTHER_MASK),
    "chosen by sum of masks": (lambda a, b: ~(a + b), MASK, OTHER_MASK),
    "maximum of whole numbers": (torch.maximum, WHOLE, -WHOLE),
    "clamp_min": (lambda a: aten.clamp_min.default(a, 0.2), A),
    "clamp_max": (lambda a: aten.clamp_max.default(a, 0.2), A),
    "clamp": (lambda a: a.clamp(-0.5, 0.5), A),
    "clamp below": (lambda a: a.clamp(min=-0.5), A),
    "clamp above": (lambda a: a.clamp(max=0.5), A),
    "clamp of whole numbers": (lambda a: a.clamp(-1, 1), WHOLE),
    "remainder": (lambda a: a.remainder(0.7), A),
    "remainder of tensors": (torch.remainder, A, POSITIVE),
    "relu": (torch.relu, A),
    "softplus": (torch.nn.functional.softplus, A),
    "sigmoid_backward": (aten.sigmoid_backward.default, A, PART),
    "tanh_backward": (aten.tanh_backward.default, A, PART),
    "threshold_backward": (lambda g, a: aten.threshold_backward.default(g, a, 0.1), A, B),
    "softplus_backward": (lambda g, a: aten.softplus_backward.default(g, a, 1, 20), A, B),
    "log_sigmoid_backward": (
        lambda g, a: aten.log_sigmoid_backward.default(g, a, aten.log_sigmoid_forward.default(a)[1]),
        A,
        B,
    ),
    "log_sigmoid": (torch.nn.functional.logsigmoid, A),
    "nan_to_num": (torch.nan_to_num, EDGE),
    "nan_to_num with numbers": (lambda a: torch.nan_to_num(a, 1.0, 2.0, -3.0), EDGE),
    "logical_and": (torch.logical_and, MASK, OTHER_MASK),
    "logical_and of numbers": (torch.logical_and, A.round(), WHOLE),
    "logical_or": (torch.logical_or, MASK, OTHER_MASK),
    "logical_not": (torch.logical_not, MASK),
    "logical_not of numbers": (torch.logical_not, A.round()),
    "bitwise_and": (torch.bitwise_and, MASK, OTHER_MASK),
    "bitwise_or": (torch.bitwise_or, WHOLE, WHOLE),
    "bitwise_not": (torch.bitwise_not, MASK),
    "bitwise_not of whole numbers": (torch.bitwise_not, WHOLE),
    **{
        f"{name} at the edge": (getattr(torch, name), EDGE)
        for name in ("abs", "sign", "exp", "tanh", "sigmoid", "relu", "isnan", "isfinite", "erf", "neg", "sqrt")
    },
    "maximum at the edge": (torch.maximum, EDGE, EDGE.flip(1)),
    "clamp at the edge": (lambda a: a.clamp(-2, 2), EDGE),
    "softplus at the edge": (torch.nn.functional.softplus, EDGE),
    "where at the edge": (lambda a, b: torch.where(a > b, a, b), EDGE, EDGE.roll(1, 1)),
    **{f"float to {kind}": (lambda a, kind=kind: a.to(kind), A) for kind in (torch.float64, torch.int64, torch.bool)},
    **{f"mask to {kind}": (lambda a, kind=kind: a.to(kind), MASK) for kind in (torch.float32, torch.int64)},
    **{
        f"whole to {kind}": (lambda a, kind=kind: a.to(kind), WHOLE)
        for kind in (torch.float32, torch.float64, torch.bool, torch.int32)
    },
    "double to float": (lambda a: a.float(), DOUBLE),
    "scalar times number": (lambda s: s * 2 + 1, SCALAR),
    "float32 plus constant": (lambda a: a + torch.tensor([1.0, INF, NAN, -0.1]), A),
    "constant of one number": (lambda a: a * torch.full((3, 4), -1.5), A),
    "masked by constant": (lambda a: torch.where(torch.tensor([True, False, True, True]), a, 0.0), A),
    "whole plus constant": (lambda a: a + torch.arange(-2, 2), WHOLE),
    "detached copy": (lambda a: (a.detach().clone() + 1).clone(), A),
    "ones_like": (lambda a: torch.ones_like(a) + a, A),
    "zeros_like": (lambda a: torch.zeros_like(a), A),
    "full_like": (lambda a: torch.full_like(a, 2.5) * a, A),
    "new_zeros": (lambda a: a.new_zeros(2) + a[0, 0], A),
}
for comparison in ("eq", "ne", "lt", "le", "gt", "ge"):
    compare = getattr(torch, comparison)
    ELEMENTWISE_CASES |= {
        f"{comparison} of whole numbers": (compare, WHOLE, WHOLE.roll(1, 0)),
        f"{comparison} of masks": (compare, MASK, OTHER_MASK),
        f"{comparison} of types": (compare, WHOLE, A),
        f"{comparison} of doubles": (compare, DOUBLE, DOUBLE.roll(1, 0)),
        f"{comparison} of row": (compare, A.round(), ROW.round()),
        f"{comparison} at the edge": (compare, EDGE, EDGE.flip(1)),
        f"{comparison} a number": (lambda a, compare=compare: compare(a, 1), WHOLE),
        f"{comparison} a fraction": (lambda a, compare=compare: compare(a, 0.5), WHOLE),
    }

VIEW_CASES = {
    "transpose": (lambda a: a.t() * 2, A),
    "transpose of axes": (lambda a: aten.transpose.int(a, 0, 2) * 2, CUBE),
    "permute": (lambda a: a.permute(2, 0, 1) + 1, CUBE),
    "permute and reshape": (lambda a: a.permute(2, 0, 1).reshape(8, 3) + 1, CUBE),
    "view": (lambda a: a.view(4, 3) * 2, A),
    "flat": (lambda a: (a * 2).flatten() + 1, A),
    "unsafe view": (lambda a: aten._unsafe_view.default(a + 1, [2, 6]) * 2, A),
    "expand": (lambda a: a.expand(5, 3, 4) * 2, A),
    "expand of column": (lambda a: a.expand(3, 5) * 2, COLUMN),
    "expand of scalar": (lambda a: a.expand(2, 3) + 1, SCALAR),
    "expand to result": (lambda a: a.expand(2, 4), ROW),
    "select": (lambda a: a[1] * 2, A),
    "select of column": (lambda a: a[:, -1] * 2, A),
    "slice": (lambda a: a[1:, 1:3] * 2, A),
    "slice with step": (lambda a: a[::2, 1::2] * 2, A),
    "slice of nothing": (lambda a: a[3:] * 2, A),
    "unsqueeze": (lambda a: a.unsqueeze(1) * 2, A),
    "squeeze": (lambda a: a.squeeze() * 2, COLUMN),
    "squeeze axis": (lambda a: a.squeeze(1) * 2, COLUMN),
    "squeeze axes": (lambda a: a.squeeze((0, 1)) * 2, COLUMN),
    "squeeze in place": (lambda a: aten.squeeze_.dim(a + 1, 1) * 2, COLUMN),
    "split": (lambda a: a.split(3, 1)[1] * 2, A),
    "split with sizes": (lambda a: a.split([1, 3], 1)[1] * 2, A),
    "unbind": (lambda a: a.unbind(1)[2] * 2, A),
    "diagonal": (lambda a: a.diagonal() * 2, SQUARE),
    "upper diagonal": (lambda a: a.diagonal(1) * 2, SQUARE),
    "view as result": (lambda a: a.t(), A),
    "part as result": (lambda a: a[1], A),
    "transposed sum of both": (lambda a: a + a.t(), SQUARE),
}
RULE_CASES = {
    **{
        f"sum over {axes} {keep}": (lambda a, axes=axes, keep=keep: a.sum(axes, keepdim=keep), CUBE)
        for axes in (0, 1, 2, (0, 1), (0, 2), (1, 2), (0, 1, 2), -1)
        for keep in (False, True)
    },
    "sum": (torch.sum, CUBE),
    "sum of transposed": (lambda a: a.permute(2, 0, 1).sum(1), CUBE),
    "sum of expanded": (lambda a: a.expand(5, 4).sum(0), ROW),
    "sum of scalar": (torch.sum, SCALAR),
    "sum over length one": (lambda a: a.sum(1), COLUMN),
    "sum over all of length one": (lambda a: a[:1].sum(), COLUMN),
    "sum of nothing": (lambda a: a[3:].sum(), A),
    "sum of nothing over rows": (lambda a: a[3:].sum(0), A),
    "sum of mask": (lambda a: a.sum(0), MASK),
    "sum of whole numbers": (lambda a: a.sum(1), WHOLE),
    "sum at the edge": (lambda a: a.view(3, 4).sum(0), EDGE),
    "sum in place of a chain": (lambda a, b: (torch.exp(a) * b).sum(0) * 2 + a[0], A, B),
    "sum of doubles": (lambda a: a.sum(1), DOUBLE),
    "mean": (torch.mean, CUBE),
    "mean over axis": (lambda a: a.mean(1), CUBE),
    "mean over axes": (lambda a: a.mean((0, 2), keepdim=True), CUBE),
    "amax": (lambda a: a.amax(1), CUBE),
    "amax of all": (lambda a: a.amax(), CUBE),
    "isnan": (torch.isnan, EDGE),
    "amax kept": (lambda a: a.amax((0, 2), keepdim=True), CUBE),
    "amax at the edge": (lambda a: a.view(3, 4).amax(1), EDGE),
    "norm": (lambda a: torch.linalg.vector_norm(a), A),
    "norm over axis": (lambda a: torch.linalg.vector_norm(a, dim=1, keepdim=True), A),
    "cumsum": (lambda a: a.cumsum(1), CUBE),
    "cumsum over last": (lambda a: a.cumsum(-1), CUBE),
    "cumsum of transposed": (lambda a: a.t().cumsum(0), A),
    "cumsum of whole numbers": (lambda a: a.cumsum(0), WHOLE),
    "cumsum of mask": (lambda a: a.cumsum(0), MASK),
    "argmax": (lambda a: a.argmax(0), A),
    "argmax at the edge": (lambda a: a.view(3, 4).argmax(0), EDGE),
    "logsumexp": (lambda a: a.logsumexp(0), A),
    "logsumexp kept": (lambda a: a.logsumexp(1, keepdim=True), A),
    "logsumexp at the edge": (lambda a: a.view(6, 2).logsumexp(1), EDGE),
    "logsumexp of nothing likely": (lambda a: torch.full_like(a, -INF).logsumexp(0) + a[0], A),
    "softmax": (lambda a: a.softmax(1), A),
    "softmax over first": (lambda a: a.softmax(0), A),
    "log_softmax": (lambda a: a.log_softmax(-1), A),
    "softmax at the edge": (lambda a: a.view(6, 2).softmax(1), EDGE),
    "log_softmax at the edge": (lambda a: a.view(3, 4).log_softmax(0), EDGE),
    **{
        f"{name} of {row}": (lambda a, name=name, row=row: getattr(torch.tensor(row) + 0 * a[0, 0], name)(0), A)
        for name in ("softmax", "log_softmax", "logsumexp")
        for row in ([INF, 0.0, 1.0], [INF, INF, 0.0], [INF, -INF, 0.0], [-INF, 0.0, 1.0], [-INF, -INF], [NAN, INF])
    },
    "softmax backward": (lambda g, a: aten._softmax_backward_data(g, a.softmax(1), 1, torch.float32), A, B),
    "log_softmax backward": (lambda g, a: aten._log_softmax_backward_data(g, a.log_softmax(0), 0, torch.float32), A, B),
    "cat of inputs": (lambda a, b: torch.cat([a, b]), A, B),
    "cat of computed": (lambda a, b: torch.cat([a + b, a * b, b]), A, B),
    "cat along columns": (lambda a, b: torch.cat([a + b, a * b, b], 1), A, B),
    "cat of part twice": (lambda a: (lambda c: torch.cat([c, c]))(a + 1), A),
    "cat of part read again": (lambda a: (lambda c: torch.cat([c, c * 2]).sum(0) + c[0])(a.exp()), A),
    "cat of sums": (lambda a, b: torch.cat([a.sum(0), b.sum(0), a[0]]), A, B),
    "cat of transposed": (lambda a, b: torch.cat([(a + 1).t(), b.t()]), A, B),
    "cat of cat": (lambda a, b: torch.cat([torch.cat([a + b, b]), a * 2]), A, B),
    "cat with nothing": (lambda a, b: torch.cat([a[3:], b + 1]), A, B),
    "cat of nothing": (lambda a: torch.cat([a[3:], a[3:]]) * 2, A),
    "cat of constant": (lambda a: torch.cat([torch.ones(4), a.sum(0)]), A),
    "cat of types": (lambda a, b: torch.cat([a, b + 1]), A, DOUBLE),
    "stack": (lambda a, b: torch.stack([a, b * 2], 1), A, B),
    "stack of scalars": (lambda s: torch.stack([s, s * 2, -s]), SCALAR),
    "select_backward": (lambda a: aten.select_backward(a + 1, [5, 4], 0, 2), ROW),
    "select_backward of column": (lambda a: aten.select_backward(a + 1, [4, 5], 1, -1), ROW),
    "slice_backward": (lambda a: aten.slice_backward(a * 2, [6, 4], 0, 2, 5, 1), A),
    "slice_backward of columns": (lambda a: aten.slice_backward(a * 2, [3, 9], 1, 0, 8, 2), A),
    "slice_backward of all": (lambda a: aten.slice_backward(a * 2, [3, 4], 0, 0, 3, 1), A),
    "slice_backward twice": (
        lambda a: aten.slice_backward(aten.slice_backward(a * 2, [5, 4], 0, 1, 4, 1), [8, 4], 0, 2, 7, 1),
        A,
    ),
    "sum of slice_backwards": (
        lambda a, b: aten.slice_backward(a, [6, 4], 0, 0, 3, 1) + aten.slice_backward(b * 2, [6, 4], 0, 3, 6, 1),
        A,
        B,
    ),
    "diagonal_backward": (lambda a: aten.diagonal_backward(a + 1, [4, 4], 0, 0, 1), ROW),
    "diag_embed": (lambda a: torch.diag_embed(a + 1), ROW),
    "diag_embed of matrix": (lambda a: torch.diag_embed(a, 1), A),
    "diagonal_scatter": (lambda a, v: torch.diagonal_scatter(a * 2, v + 1), SQUARE, ROW),
    "select_scatter": (lambda a, v: torch.select_scatter(a, v, 0, 1), SQUARE, ROW),
    "slice_scatter": (lambda a, b: torch.slice_scatter(a + 1, b * 2, 0, 1, 4), SQUARE, A),
    "slice_scatter of columns": (lambda a, b: torch.slice_scatter(a, b.t(), 1, 0, 3), SQUARE, A),
    "where": (torch.where, MASK, A, ROW),
    "where with number": (lambda m, a: torch.where(m, a, 0.5), MASK, A),
    "where with numbers": (lambda m: torch.where(m, 1.0, -1.0), MASK),
    "where of whole numbers": (lambda m, a: torch.where(m, a, 7), MASK, WHOLE),
    "where of masks": (torch.where, MASK, OTHER_MASK, MASK),
    "where of types": (torch.where, MASK, A, DOUBLE),
    "masked_fill": (lambda a, m: a.masked_fill(m, -2.0), A, MASK),
    "triu": (lambda a: a.triu(1), SQUARE),
    "tril": (lambda a: a.tril(), A),
    "repeat": (lambda a: a.repeat(2, 3), A),
    "repeat with new axis": (lambda a: a.repeat(2, 1, 1) * 2, A),
    "index at constants": (lambda a: a[torch.tensor([2, 0, 2])] * 2, A),
    "index at pairs": (lambda a: a[torch.tensor([2, 0]), torch.tensor([1, 3])], A),
    "index_put": (
        lambda a, v: aten.index_put.default(a, [torch.tensor([0, 2])], v, False),
        A,
        numbers(2, 4, seed=11),
    ),
    "index_put that adds": (
        lambda a, v: aten.index_put.default(a + 1, [torch.tensor([1, 1])], v, True),
        A,
        numbers(2, 4, seed=12),
    ),
    "gather of columns": (lambda a, i: a.gather(1, (i + 3).remainder(4)[:, :2]), A, WHOLE),
    "gather of rows": (lambda a, i: a.gather(0, i.clamp(0, 2)[:1]), A, WHOLE),
    "mm": (lambda a, b: a @ b.t(), A, B),
    "mm of transposed": (lambda a, b: a.t() @ b, A, B),
    "mm of parts": (lambda a, b: a[:, 1:3] @ b[:2, ::2], A, B),
    "mm of inner length one": (lambda a, b: a @ b[None], COLUMN, ROW),
    "bmm": (lambda a, b: torch.bmm(a, b.mT), CUBE, CUBE.flip(0)),
    "bmm of expanded": (lambda a, b: torch.bmm(a, b.expand(2, 4, 4)), CUBE, SQUARE),
    "mv": (torch.mv, A, ROW),
    "dot": (torch.dot, ROW, ROW.flip(0)),
    "addmm": (lambda r, a, b: torch.addmm(r, a, b), ROW, A, SQUARE),
    "baddbmm": (lambda r, a, b: torch.baddbmm(r[:, :1], a, b), CUBE, CUBE, numbers(2, 4, 4, seed=13)),
    "inverse": (lambda a: torch.linalg.inv_ex(a)[0], SPD),
    "cholesky": (lambda a: torch.linalg.cholesky_ex(a)[0], SPD),
    "qr": (lambda a: (lambda q, r: q @ r)(*torch.linalg.qr(a)), TALL),
    "triangular solve": (
        lambda a, b: torch.linalg.solve_triangular(a.tril() + 3 * torch.eye(4), b.t(), upper=False),
        SQUARE,
        A,
    ),
    "triangular solve from the right": (
        lambda a, b: torch.linalg.solve_triangular(a.triu() + 3 * torch.eye(4), b, upper=True, left=False),
        SQUARE,
        A,
    ),
    "last eigenpairs": (
        lambda a: (lambda values, vectors: (vectors[:, -2:] * values[-2:] / 10) @ vectors[:, -2:].t())(
            *torch.linalg.eigh(a)
        ),
        SPD,
    ),
}
# Operators that a trace replaces by others, at least by some versions of torch.
REPLACED = {
    "aten.alias.default",
    "aten.reshape.default",
    "aten.special_ndtr.default",
    "aten.square.default",
    "aten.squeeze_.dim",
}
GROUPS = {"elementwise": ELEMENTWISE_CASES, "views": VIEW_CASES, "rules": RULE_CASES}


@pytest.fixture(scope="module")
def runs(run_update):
    """One native update for each group of cases, which computes all of them."""

    def run(cases):
        places, arguments = {}, []
        for name, (_, *given) in cases.items():
            places[name] = slice(len(arguments), len(arguments) + len(given))
            arguments += given
        return run_update(lambda *leaves: [case[0](*leaves[places[name]]) for name, case in cases.items()], arguments)

    return {group: run(cases) for group, cases in GROUPS.items()}


@pytest.mark.parametrize(("group", "name"), [(group, name) for group, cases in GROUPS.items() for name in cases])
def test_each_compiled_operator_equals_torch(runs, group, name):
    place = list(GROUPS[group]).index(name)
    outcome, expected = (getattr(runs[group], kind)[place] for kind in ("outcomes", "expected"))
    torch.testing.assert_close(outcome, expected, rtol=1e-5, atol=2e-6, equal_nan=True)


def test_handling_of_infinities_does_not_change_finite_softmax(run_update):
    """Softmax as it was before it treated infinite numbers as torch does."""

    def earlier(a):
        largest = a.amax(1, keepdim=True)
        powers = (a - torch.where(largest.abs() == INF, 0.0, largest)).exp()
        return powers / powers.sum(1, keepdim=True)

    def earlier_logarithm(a):
        largest = a.amax(1, keepdim=True)
        finite = torch.where(largest.abs() == INF, 0.0, largest)
        return a - finite - (a - finite).exp().sum(1, keepdim=True).log()

    inputs = [scale * numbers(7, 10, seed=seed) for seed, scale in enumerate((0.01, 1, 30, 1e4))]
    for now, before in ((lambda a: a.softmax(1), earlier), (lambda a: a.log_softmax(1), earlier_logarithm)):
        run = run_update(lambda *given, now=now, before=before: [f(a) for a in given for f in (now, before)], inputs)
        for result, same in zip(run.outcomes[::2], run.outcomes[1::2], strict=True):
            assert torch.equal(result, same)


def test_every_compiled_operator_is_tested(runs):
    seen = set[object]().union(*(run.seen for run in runs.values()))
    forms = {*ELEMENTWISE, *COMPARE, *VIEWS, *RULES, *COPIES, *SHAPE_ONLY}
    assert {str(form) for form in forms - seen} <= REPLACED
