"""The elementary functions of lanes agree with double precision, and treat special values as PyTorch does."""

import ctypes

import numpy as np
import pytest
import torch
from scipy import special

TINY, LARGE = np.finfo(np.float32).tiny, np.finfo(np.float32).max
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 2.5, -2.5, 1.5, 90.0, -90.0, 1e30, -1e30]
COUNT = 1 << 17


def apply(probes, name, *arrays, extra=()):
    """Return the function called `name` of float or double arrays, whose length is a multiple of 16."""
    result = np.empty_like(arrays[0])
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (*arrays, result)]
    getattr(probes, name)(*pointers, ctypes.c_long(result.size), *extra)
    return result


def ulps(values, exact):
    """Return the distance in units in the last place, 0 where the exact result is not a normal float."""
    normal = (np.abs(exact) >= TINY) & (np.abs(exact) <= LARGE)
    unit = np.spacing(np.abs(np.where(normal, exact, 1.0)).astype(np.float32))
    return np.where(normal, np.abs(values - np.where(normal, exact, 0.0)) / unit, 0.0)


def even(low, high):
    return np.linspace(low, high, COUNT).astype(np.float32)


def geometric(low, high):
    return np.geomspace(low, high, COUNT).astype(np.float32)


def signed(low, high):
    return np.concatenate([geometric(low, high), -geometric(low, high)])


def softplus(x):
    return np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, 20))))


# The largest error in ulp, double precision's function, the arguments. The first is what elementary.hpp states.
FUNCTIONS = {
    "exp": (1.0, np.exp, [even(-87.3, 88.7), signed(1e-10, 80)]),
    "expm1": (1.6, np.expm1, [even(-20, 88.7), signed(1e-10, 80)]),
    "log": (0.9, np.log, [geometric(1e-37, 3e38), even(0.3, 3)]),
    "log1p": (1.6, np.log1p, [even(-0.999999, 10), signed(1e-10, 0.9999), geometric(1, 1e38)]),
    "sqrt": (0.5, np.sqrt, [geometric(1e-37, 1e38)]),
    "tanh": (1.4, np.tanh, [signed(1e-10, 20)]),
    "sigmoid": (2.3, special.expit, [even(-87, 100)]),
    "log_sigmoid": (2.0, special.log_expit, [even(-100, 86), signed(1e-8, 80)]),
    "softplus": (1.9, softplus, [even(-87, 30)]),
    "sin": (1.6, np.sin, [signed(1e-6, 1e6), even(-8000, 8000)]),
    "cos": (1.6, np.cos, [signed(1e-6, 1e6), even(-8000, 8000)]),
    "erf": (1.3, special.erf, [signed(1e-10, 10)]),
    "ndtr": (4.3, special.ndtr, [even(-13, 8), even(-4, -1), signed(1e-6, 5)]),
    "ndtri": (3.8, special.ndtri, [geometric(1e-37, 0.5), even(1e-4, 0.9999), 1 - geometric(1e-7, 0.5)]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_elementary_functions_have_stated_ulp_errors(probes, name):
    bound, truth, grids = FUNCTIONS[name]
    x = np.concatenate(grids)
    errors = ulps(apply(probes, f"float_{name}", x), truth(x.astype(np.float64)))
    worst = int(np.argmax(errors))
    assert errors[worst] <= bound, f"{name}({x[worst]!r}) is off by {errors[worst]:.2f} ulp, allowed are {bound}"


# The largest error in ulp of powers with a known exponent, as elementary.hpp states it. For whole exponents it depends
# only on the mantissa.
POWERS = {2: 0.5, 3: 1.3, 8: 5.2, 16: 12.1, -2: 1.5, -16: 14.0, 0.5: 0.5, -0.5: 1.5, 1.5: 1.3, 0.3: 0.6, 17: 0.6}


@pytest.mark.parametrize("exponent", POWERS)
def test_powers_have_the_stated_ulp_errors(probes, exponent):
    x = np.linspace(0.5, 2, 1 << 19, dtype=np.float32)
    powers = apply(probes, "float_power", x, extra=(ctypes.c_float(exponent),))
    errors = ulps(powers, x.astype(np.float64) ** np.float64(np.float32(exponent)))
    assert errors.max() <= POWERS[exponent]


def test_tensor_powers_have_errors_below_0_6_ulp(probes):
    x, y = geometric(0.01, 100), np.random.default_rng(0).uniform(-15, 15, COUNT).astype(np.float32)
    assert ulps(apply(probes, "float_pow", x, y), x.astype(np.float64) ** y.astype(np.float64)).max() <= 0.6


def test_sine_and_cosine_have_two_ulps_error(probes):
    turns = even(-0.5, 0.5)
    quarter = np.round(turns.astype(np.float64) * 4)
    rest = 2 * np.pi * (turns - quarter / 4)  # exact reduction: double precision's own would lose the zeros
    quarter = quarter.astype(int) % 4
    sine = np.choose(quarter, [np.sin(rest), np.cos(rest), -np.sin(rest), -np.cos(rest)])
    cosine = np.choose(quarter, [np.cos(rest), -np.sin(rest), -np.cos(rest), np.sin(rest)])
    assert ulps(apply(probes, "sine_of_turns", turns), sine).max() <= 2
    assert ulps(apply(probes, "cosine_of_turns", turns), cosine).max() <= 2


TORCH = {
    "sigmoid": torch.sigmoid,
    "log_sigmoid": torch.nn.functional.logsigmoid,
    "softplus": torch.nn.functional.softplus,
    "ndtr": torch.special.ndtr,
    "ndtri": torch.special.ndtri,
}


@pytest.mark.parametrize("precision", ["float", "double"])
@pytest.mark.parametrize("name", [*FUNCTIONS, "abs", "sign", "floor", "round"])
def test_infinities_nan_and_zeros_behave_as_in_torch(probes, name, precision):
    x = torch.tensor(SPECIAL, dtype=getattr(torch, precision))
    if precision == "float" and name in {"sin", "cos"}:
        x = x.clamp(-1e6, 1e6)  # far angles are NaN in float lanes
    expected = TORCH.get(name, getattr(torch, name, None))(x)
    actual = torch.from_numpy(apply(probes, f"{precision}_{name}", x.numpy()))
    torch.testing.assert_close(actual, expected, equal_nan=True, rtol=1e-6 if precision == "float" else 1e-14, atol=0)
    if name in {"expm1", "log1p", "tanh", "sin", "erf", "sqrt", "abs", "round", "floor"}:
        assert torch.equal(actual[:2].signbit(), expected[:2].signbit())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_float64_functions_equal_scipy(probes, name):
    _, truth, grids = FUNCTIONS[name]
    x = np.concatenate(grids)[::64].astype(np.float64)
    np.testing.assert_allclose(apply(probes, f"double_{name}", x), truth(x), rtol=2e-13, atol=1e-300)


def test_subnormal_inputs_count_as_themselves_or_zero(probes):
    x = np.geomspace(1e-44, 1e-38, 16).astype(np.float32)
    np.testing.assert_allclose(apply(probes, "float_log", x), np.log(x.astype(np.float64)), rtol=1e-6)
    for name in ("expm1", "log1p", "tanh", "sin", "erf"):
        np.testing.assert_allclose(apply(probes, f"float_{name}", x), truth_at_zero(name) * x, rtol=0.5, atol=TINY)


def truth_at_zero(name):
    """Return the slope at zero."""
    return 2 / np.sqrt(np.pi) if name == "erf" else 1.0


def test_rounding_equals_torch_except_at_halves(probes):
    x = np.concatenate([np.arange(-512, 512) / 4, geometric(1e5, 1e9)]).astype(np.float32)
    np.testing.assert_array_equal(apply(probes, "float_round", x), torch.from_numpy(x).round().numpy())
    np.testing.assert_array_equal(apply(probes, "float_floor", x), torch.from_numpy(x).floor().numpy())


@pytest.mark.parametrize("precision", ["float", "double"])
@pytest.mark.parametrize(
    ("name", "operation"),
    [("min", torch.minimum), ("max", torch.maximum), ("pow", torch.pow), ("remainder", torch.remainder)],
)
def test_binary_functions_equal_torch(probes, name, operation, precision):
    values = torch.tensor([*SPECIAL, *np.linspace(-7, 7, 48)], dtype=getattr(torch, precision))
    a, b = (side.flatten().contiguous() for side in torch.meshgrid(values, values, indexing="ij"))
    actual = torch.from_numpy(apply(probes, f"{precision}_{name}", a.numpy(), b.numpy()))
    # PyTorch's remainder by an infinite divisor is computed otherwise, so that rows are left out.
    kept = b.isfinite() if name == "remainder" else torch.ones_like(b, dtype=torch.bool)
    rtol = 1e-6 if precision == "float" else 1e-14
    torch.testing.assert_close(actual[kept], operation(a, b)[kept], equal_nan=True, rtol=rtol, atol=0)


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0, 3.0, 7.0, 16.0, -1.0, -2.0, 0.5, -0.5, 1.5, 17.0, 0.3])
def test_constant_powers_equal_torch(probes, exponent):
    x = torch.tensor([*SPECIAL, *np.linspace(-3, 3, 64), *np.geomspace(1e-2, 50, 64)], dtype=torch.float32)
    actual = apply(probes, "float_power", x.numpy(), extra=(ctypes.c_float(exponent),))
    expected = x.double().pow(float(np.float32(exponent))).float()
    torch.testing.assert_close(torch.from_numpy(actual), expected, equal_nan=True, rtol=2e-6, atol=1e-37)


def test_clamp_and_nan_handling_equal_torch(probes):
    x = torch.tensor(SPECIAL, dtype=torch.float32)
    clamped = torch.from_numpy(apply(probes, "float_clamp", x.numpy()))
    torch.testing.assert_close(clamped, x.clamp(-1, 2), equal_nan=True, rtol=0, atol=0)
    replaced = torch.from_numpy(apply(probes, "float_nan_to_num", x.numpy()))
    assert torch.equal(replaced, x.nan_to_num(5, 6, 7))
    assert torch.equal(torch.from_numpy(apply(probes, "float_is_nan", x.numpy())), -x.isnan().float())
