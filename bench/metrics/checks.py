"""Checks of predictives and targets that come from outside `bench.metrics` and `bench.arrays`: types, shapes, labels.

Every error message says what was given, what is allowed, and what to do. NaN and infinite numbers in a predictive pass
these checks. The metrics of such a diverged fit are NaN, and `bench.metrics.flaws` gives the reason.
"""

from operator import index
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lockstep_bench.methods.maths.predictive import (
    Classes,
    Histogram,
    NormalMixtures,
    Normals,
    Predictive,
    Quantiles,
    StudentT,
)

# How many axes the parts of a predictive have, of which the first two are samples and points.
AXES: dict[type, int] = {Normals: 2, NormalMixtures: 3, StudentT: 2, Quantiles: 3, Histogram: 3, Classes: 3}
REGRESSIONS = tuple(kind for kind in AXES if kind is not Classes)
# A sum of class probabilities that is 1 + t changes the NMLL by t nats. Rounding in single precision gives 1e-6 with a
# thousand classes, and probabilities that are clipped at 1e-6 before the logarithm 1e-5 with ten. Pages show 1e-3.
SUM_TOLERANCE = 1e-4
AT_ONCE = 1 << 22  # probabilities that are summed together (16 MiB)


class NoDistribution(ValueError):
    """A predictive describes no probability distribution. The message says what is wrong."""


def reals(values: Any, name: str, shape: str) -> np.ndarray:
    """Return values as an array of real numbers, after checks; double precision is kept.

    Args:
        values: an array, a tensor, or anything that NumPy can turn into an array.
        name: name of the argument, for error messages.
        shape: the expected shape, such as "(n,)" or "(n, C)", for error messages and for the number of axes.

    Raises:
        TypeError: The values are not real numbers.
        ValueError: The values have a wrong number of axes, are masked, or are not finite.
    """
    array = values if isinstance(values, np.ndarray) else _array(values)
    if np.ma.is_masked(array):
        count = int(np.ma.getmaskarray(array).sum())
        raise ValueError(f"{name} should have a number everywhere, got {count} masked values; fill or remove them")
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"{name} should be an array of real numbers, got {_kind(values, array)}; turn it into numbers, as by "
            "numpy.asarray(values, dtype=float)"
        )
    axes = sum(bool(part.strip()) for part in shape.strip("()").split(","))
    if array.ndim != axes:
        column = axes == 1 and array.ndim == 2 and array.shape[1] == 1
        remedy = f"give {name}[:, 0]" if column else "reshape it"
        raise ValueError(f"{name} should have the shape {shape}, got {tuple(array.shape)}; {remedy}")
    if array.dtype.kind == "f" and (wrong := int((~np.isfinite(array)).sum())):
        raise ValueError(
            f"{name} should hold finite numbers, got NaN or infinite ones at {wrong} of {array.size} places; fill or "
            "remove them"
        )
    return np.asarray(array)


def _array(values: Any) -> np.ndarray:
    if isinstance(values, Tensor):
        return values.detach().cpu().numpy()
    try:
        return np.asarray(values)
    except ValueError:  # rows of different lengths
        return np.asarray(values, dtype=object)


def _kind(values: Any, array: np.ndarray) -> str:
    return f"the type {array.dtype}" if array.ndim else f"a {type(values).__name__}"


def of_length(array: np.ndarray, n: int, name: str, of: str) -> np.ndarray:
    """Return the array if it has n rows, otherwise raise ValueError.

    `name` and `of` say, in the error message, which array this is and which other array has n rows.
    """
    if len(array) != n:
        raise ValueError(
            f"{name} should have the length {n}, one for each of {of}, got {len(array)}; give rows that belong together"
        )
    return array


def class_numbers(labels: Any, n_classes: int, name: str = "y") -> np.ndarray:
    """Return labels (n,) as integers from 0 to n_classes - 1.

    Raises:
        TypeError: The labels are not numbers.
        ValueError: The labels have a wrong shape, or are other numbers.
    """
    array = reals(labels, name, "(n,)")
    wrong = (array < 0) | (array >= n_classes) | (array != np.floor(array))
    if wrong.any():
        raise ValueError(
            f"{name} should hold class numbers 0 to {n_classes - 1}, got {array[wrong][0]:g} at the first of "
            f"{int(wrong.sum())} such places of {len(array)}; number the classes, as by "
            f"numpy.unique({name}, return_inverse=True)[1]"
        )
    return array.astype(np.int64)


def integer(value: Any, name: str, least: int) -> int:
    """Return the value as an integer if it is one (of Python or NumPy) and at least `least`, otherwise raise."""
    try:
        number = index(value)
    except TypeError:
        raise TypeError(f"{name} should be an integer of at least {least}, got {value!r}; leave out decimals") from None
    if isinstance(value, bool) or number < least:
        raise ValueError(f"{name} should be an integer of at least {least}, got {value!r}")
    return number


def positive(value: Any, name: str) -> float:
    """Return the value as a float if it is a finite number above 0, otherwise raise."""
    number = float(reals(value, name, "()"))
    if number <= 0:
        raise ValueError(f"{name} should be a number above 0, got {number:g}")
    return number


def predictive(given: Any, *kinds: type) -> int:
    """Check the type and shapes of a predictive, and return its number of points.

    Args:
        given: the predictive.
        kinds: types that are allowed; by default all.

    Raises:
        TypeError: The predictive has another type, or does not hold tensors of real numbers.
        ValueError: The shapes of its tensors do not fit together.
        NoDistribution: Class probabilities do not sum to 1.
    """
    allowed = kinds or tuple(AXES)
    if type(given) not in allowed:
        names = " or ".join(kind.__name__ for kind in allowed)
        raise TypeError(f"a predictive should be {names} of `lockstep_bench.methods.api`, got a {type(given).__name__}")
    name = type(given).__name__
    for part, values in given._asdict().items():
        if not isinstance(values, Tensor) or not values.is_floating_point():
            got = str(values.dtype) if isinstance(values, Tensor) else f"a {type(values).__name__}"
            raise TypeError(f"`{part}` of {name} should be a tensor of real numbers, got {got}")
    shapes: list[tuple[int, ...]] = [tuple(part.shape) for part in given]
    fits = all(len(shape) == AXES[type(given)] and shape[:2] == shapes[0][:2] for shape in shapes) and shapes[0][0] > 0
    if fits and len(shapes) > 1:
        last = [shape[-1] for shape in shapes]
        fits = last[0] == last[1] + 1 if isinstance(given, Histogram) else len(set(last)) == 1
    if not fits:
        got = ", ".join(f"{part} {shape}" for part, shape in zip(given._fields, shapes, strict=True))
        raise ValueError(
            f"the parts of {name} should have the shapes in its docstring, with samples along the first axis and "
            f"points along the second, got {got}; pass a single sample as part[None]"
        )
    if isinstance(given, Classes) and (problem := _unnormalised(given)):
        raise NoDistribution(problem)
    return shapes[0][1]


def _unnormalised(classes: Classes) -> str | None:
    """Return at how many points class probabilities do not sum to 1, or None; NaN counts as normalised."""
    n_samples, n_points, n_classes = classes.log_probs.shape
    parts = classes.log_probs.split(max(1, AT_ONCE // (n_samples * max(1, n_classes))), dim=1)
    sums = torch.cat([part.exp().sum(-1) for part in parts], dim=1)
    off = ((sums - 1).abs() > SUM_TOLERANCE).any(0)
    count = int(off.sum())
    if not count:
        return None
    first = sums[:, off][:, 0]
    worst = first[(first - 1).abs().nan_to_num().argmax()].item()
    return (
        f"the class probabilities exp(log_probs) sum to {worst:.4g} and not to 1 at {count} of {n_points} points; "
        "normalise log_probs, as by torch.log_softmax"
    )


def targets(given: Predictive, y: Any, *kinds: type) -> Tensor:
    """Check targets y (n,) and return them as a tensor on the predictive's device, float64, or int64 for classes.

    Args:
        given: the predictive at n points, n at least 1.
        y: (n,), real numbers, or class numbers 0 to C - 1; a tensor or an array.
        kinds: types of predictives that are allowed; by default all.

    Raises:
        TypeError: The predictive or y has a wrong type.
        ValueError: The predictive or y has a wrong shape, or y has impossible values.
    """
    n_points = predictive(given, *kinds)
    if isinstance(given, Classes):
        array: np.ndarray = class_numbers(y, given.log_probs.shape[2])
    else:
        array = reals(y, "y", "(n,)").astype(np.float64)
    of_length(array, n_points, "y", "the predictive's points")
    if not n_points:
        raise ValueError("a predictive should have at least one point to be scored, got none")
    return torch.as_tensor(array, device=given[0].device)
