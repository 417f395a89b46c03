"""C++ expressions for elementwise operators.

Operands arrive as C++ expressions of the result's type. The functions whose names end with an underscore are those of
`include/elementary.hpp`.
"""

import math
from collections.abc import Callable

import torch

aten = torch.ops.aten

LANES = {
    torch.float32: "F",
    torch.float64: "D",
    torch.int64: "L",
    torch.int32: "I",
    torch.bool: "I",
}
BYTES = {"F": 4, "D": 8, "L": 8, "I": 4}  # of one lane
C_TYPES = {
    torch.float32: "float",
    torch.float64: "double",
    torch.int64: "int64_t",
    torch.int32: "int32_t",
    torch.bool: "int32_t",
}


def literal(value: float, dtype: torch.dtype) -> str:
    """Return a C++ expression of a SIMD value with the same number in every lane."""
    if dtype == torch.bool:
        return "splat(int32_t(-1))" if value else "splat(int32_t(0))"
    if dtype == torch.int64:
        return f"splat(int64_t({int(value)}))"
    if dtype == torch.int32:
        return f"splat(int32_t({int(value)}))"
    kind = "float" if dtype == torch.float32 else "double"
    if math.isnan(value):
        return f"splat({kind}(NAN))"
    if math.isinf(value):
        return f"splat({kind}({'-' if value < 0 else ''}INFINITY))"
    return f"splat({kind}({float(value)!r}))"


Literal = Callable[[float], str]  # writes a number as a C++ expression of the type of the result


def converted(text: str, given: torch.dtype, wanted: torch.dtype) -> str:
    """Return a C++ expression that converts a value to another type."""
    if given == wanted:
        return text
    if given == torch.bool:
        return f"select({text}, {literal(1, wanted)}, {literal(0, wanted)})"
    if wanted == torch.bool:
        return f"mask({text} != {literal(0, given)})"
    return f"convert<{LANES[wanted]}>({text})"


def times(n: Literal, factor: float, value: str) -> str:
    """Return the expression of a value times a number; just the value if the number is 1."""
    return value if factor == 1 else f"{n(factor)} * {value}"


def plus(n: Literal, start: str, factor: float, value: str) -> str:
    """Return the C++ expression of `start + factor * value`, a single `multiply_add` unless the factor is 1 or -1."""
    if abs(factor) == 1:
        return f"{start} {'+' if factor > 0 else '-'} {value}"
    return f"multiply_add({n(factor)}, {value}, {start})"


def power(n: Literal, base: str, exponent: float) -> str:
    """Return the expression of a power with a known exponent."""
    simple = {
        0: n(1),
        1: base,
        2: f"{base} * {base}",
        3: f"{base} * {base} * {base}",
        0.5: f"sqrt_({base})",
        -1: f"{n(1)} / {base}",
        -2: f"{n(1)} / ({base} * {base})",
        -0.5: f"{n(1)} / sqrt_({base})",
    }
    return simple.get(exponent) or f"pow_({base}, {n(exponent)})"


def lerp(n: Literal, start: str, end: str, weight: float) -> str:
    """Return the expression of torch's linear interpolation, which is exact at the nearer end."""
    if weight < 0.5:
        return f"multiply_add({n(weight)}, {end} - {start}, {start})"
    return f"multiply_add({n(weight - 1)}, {end} - {start}, {end})"


def clamp(n: Literal, value: str, low: float | None, high: float | None) -> str:
    """Return the expression of a clamp; either bound may be None."""
    value = value if low is None else f"max_({value}, {n(low)})"
    return value if high is None else f"min_({value}, {n(high)})"


def nan_to_num(value: str, nan: float | None, high: float | None, low: float | None) -> str:
    """Return the expression of torch's `nan_to_num` in single precision."""
    largest = torch.finfo(torch.float32).max
    numbers = (nan or 0.0, largest if high is None else high, -largest if low is None else low)
    return f"nan_to_num_({value}, {', '.join(map(repr, map(float, numbers)))})"


def usual_softplus(value: str, beta: float, threshold: float) -> str:
    """Return the operand of a softplus; raise an error unless its parameters are torch's defaults."""
    if (beta, threshold) != (1, 20):
        raise ValueError(f"softplus with beta {beta} and threshold {threshold} cannot be compiled; beta 1 and 20 can")
    return value


# Each entry takes `n`, which makes a literal of a number; the operands' expressions; and the other arguments.
ELEMENTWISE: dict[object, Callable[..., str]] = {
    aten._to_copy.default: lambda n, a, **_: a,
    aten.neg.default: lambda n, a: f"-{a}",
    aten.reciprocal.default: lambda n, a: f"{n(1)} / {a}",
    aten.rsqrt.default: lambda n, a: f"{n(1)} / sqrt_({a})",
    aten.ceil.default: lambda n, a: f"-floor_(-{a})",
    aten.sgn.default: lambda n, a: f"sign_({a})",
    aten.square.default: lambda n, a: f"{a} * {a}",
    aten.special_ndtr.default: lambda n, a: f"ndtr_({a})",
    aten.special_ndtri.default: lambda n, a: f"ndtri_({a})",
    aten.mul.Tensor: lambda n, a, b: f"{a} * {b}",
    aten.mul.Scalar: lambda n, a, b: f"{a} * {b}",
    aten.div.Tensor: lambda n, a, b: f"{a} / {b}",
    aten.div.Scalar: lambda n, a, b: f"{a} / {b}",
    aten.add.Tensor: lambda n, a, b, alpha=1: plus(n, a, alpha, b),
    aten.add.Scalar: lambda n, a, b, alpha=1: plus(n, a, alpha, b),
    aten.sub.Tensor: lambda n, a, b, alpha=1: plus(n, a, -alpha, b),
    aten.sub.Scalar: lambda n, a, b, alpha=1: plus(n, a, -alpha, b),
    aten.rsub.Scalar: lambda n, a, b, alpha=1: plus(n, b, -alpha, a),
    aten.addcmul.default: lambda n, a, b, c, value=1: f"multiply_add({times(n, value, b)}, {c}, {a})",
    aten.addcdiv.default: lambda n, a, b, c, value=1: f"{a} + {times(n, value, b)} / {c}",
    aten.lerp.Scalar: lambda n, a, b, weight: lerp(n, a, b, weight),
    aten.pow.Tensor_Scalar: lambda n, a, exponent: power(n, a, exponent),
    aten.pow.Tensor_Tensor: lambda n, a, b: f"pow_({a}, {b})",
    aten.maximum.default: lambda n, a, b: f"max_({a}, {b})",
    aten.minimum.default: lambda n, a, b: f"min_({a}, {b})",
    aten.clamp_min.default: lambda n, a, b: f"max_({a}, {b})",
    aten.clamp_max.default: lambda n, a, b: f"min_({a}, {b})",
    aten.clamp.default: lambda n, a, low=None, high=None: clamp(n, a, low, high),
    aten.remainder.Scalar: lambda n, a, b: f"remainder_({a}, {b})",
    aten.remainder.Tensor: lambda n, a, b: f"remainder_({a}, {b})",
    aten.relu.default: lambda n, a: f"relu_({a})",
    aten.softplus.default: lambda n, a, beta=1, threshold=20: f"softplus_({usual_softplus(a, beta, threshold)})",
    aten.sigmoid_backward.default: lambda n, g, y: f"{g} * multiply_add(-{y}, {y}, {y})",
    aten.tanh_backward.default: lambda n, g, y: f"multiply_add(-{g} * {y}, {y}, {g})",
    aten.threshold_backward.default: lambda n, g, a, threshold: f"select({a} <= {n(threshold)}, {n(0)}, {g})",
    aten.softplus_backward.default: lambda n, g, a, beta, threshold: (
        f"select({usual_softplus(a, beta, threshold)} > {n(20)}, {g}, {g} * sigmoid_({a}))"
    ),
    aten.log_sigmoid_backward.default: lambda n, g, a, buffer: f"{g} * sigmoid_(-{a})",
    aten.nan_to_num.default: lambda n, a, nan=None, high=None, low=None: nan_to_num(a, nan, high, low),
    aten.logical_and.default: lambda n, a, b: f"({a} & {b})",
    aten.logical_or.default: lambda n, a, b: f"({a} | {b})",
    aten.bitwise_and.Tensor: lambda n, a, b: f"({a} & {b})",
    aten.bitwise_or.Tensor: lambda n, a, b: f"({a} | {b})",
    aten.logical_not.default: lambda n, a: f"(~{a})",
    aten.bitwise_not.default: lambda n, a: f"(~{a})",
}
for name in (
    "exp",
    "expm1",
    "log",
    "log1p",
    "sqrt",
    "abs",
    "sign",
    "tanh",
    "sigmoid",
    "erf",
    "cos",
    "sin",
    "floor",
    "round",
):
    ELEMENTWISE[getattr(aten, name).default] = lambda n, a, name=name: f"{name}_({a})"

# Arithmetic of truth values, which torch defines as logic.
LOGICAL: dict[object, Callable[..., str]] = {
    aten.mul.Tensor: ELEMENTWISE[aten.logical_and.default],
    aten.minimum.default: ELEMENTWISE[aten.logical_and.default],
    aten.add.Tensor: ELEMENTWISE[aten.logical_or.default],
    aten.maximum.default: ELEMENTWISE[aten.logical_or.default],
}

# How many operands an operator has, of those where a number may stand in place of a tensor.
N_OPERANDS = {
    aten.add.Tensor: 2,
    aten.add.Scalar: 2,
    aten.sub.Tensor: 2,
    aten.sub.Scalar: 2,
    aten.rsub.Scalar: 2,
    aten.mul.Tensor: 2,
    aten.mul.Scalar: 2,
    aten.div.Tensor: 2,
    aten.div.Scalar: 2,
    aten.clamp_min.default: 2,
    aten.clamp_max.default: 2,
    aten.remainder.Scalar: 2,
}

# Comparisons: operands in their promoted type, result a mask.
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
COMPARE = {
    getattr(getattr(aten, name), kind): symbol for name, symbol in COMPARISONS.items() for kind in ("Scalar", "Tensor")
}

# Operators whose result depends only on the shape of their tensor.
SHAPE_ONLY = {aten.ones_like.default, aten.zeros_like.default, aten.full_like.default, aten.new_zeros.default}

# Operators that return their tensor, if its type stays the same.
COPIES = {
    aten.clone.default,
    aten.detach.default,
    aten.alias.default,
    aten.lift_fresh_copy.default,
    aten._to_copy.default,
}

RESHAPES = {aten._unsafe_view.default: aten.view.default, aten.reshape.default: aten.view.default}
VIEWS = {
    *RESHAPES,
    aten.view.default,
    aten.expand.default,
    aten.select.int,
    aten.slice.Tensor,
    aten.permute.default,
    aten.transpose.int,
    aten.t.default,
    aten.unsqueeze.default,
    aten.squeeze.default,
    aten.squeeze.dim,
    aten.squeeze.dims,
    aten.squeeze_.dim,
    aten.split.Tensor,
    aten.split_with_sizes.default,
    aten.unbind.int,
    aten.diagonal.default,
}
