"""Explanations of exceptions in a method's code: the rule of the method contract that was broken, and the line."""

import inspect
import linecache
import re
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from lockstep_bench.methods.base import Method

FROM_GIVEN = "make tensors from those that it gets, as by `torch.zeros_like(weights)` or `weights.new_zeros(3)`"
# What torch says -> what it means for a method. The first that matches is given.
MEANINGS = {
    r"randomness error mode|random operation": "it draws from torch's generator; take random numbers from `noise` "
    "(rule 2)",
    r"dynamic shape|torch\.nonzero": "it makes a tensor whose shape depends on values, as `x[mask]`, `nonzero` and "
    "`unique` do. All fits of a stack have equal shapes (rule 3); multiply by the mask, or choose by `torch.where`",
    r"data-dependent control flow|\.item\(\)|reads the value of a tensor|converted to an index|"
    r"not allocated yet|doesn't have storage|numpy\(\)|to numpy|data pointer": "it reads the value of a tensor, as "
    "`if`, `float()`, `int()`, `.item()` and `.numpy()` do. All fits of a stack share one computation, so a method "
    "never reads or branches on values (rule 1). Use `torch.where` to choose, and branch on `step.phase` alone",
    r"[Ii]n-?place|doesn't match the broadcast shape": "it changes in place a tensor that all fits of a stack share, "
    "such as the result of `torch.zeros(3)`. Make a new tensor: `z + x` instead of `z += x`, and `torch.cat`, "
    "`torch.stack` or `torch.where` instead of `z[0] = x`",
    r"must only return Tensors": "states and posteriors are pytrees of tensors (rule 3); make a number a tensor, as by "
    "`weights.new_tensor(0.5)`, and leave out what is None",
    r"does not require grad": "autograd records nothing during training; use `grad` or `grad_and_value` of "
    "`lockstep_bench.methods.api` instead of `backward` and `torch.autograd.grad`",
    r"same dtype|expected scalar type|but found Double": f"it mixes single and double precision; {FROM_GIVEN}",
    r"on the expected device|on the same device": f"it mixes tensors of two devices; {FROM_GIVEN}",
    r"out of meta tensor": f"it takes a tensor off the device of the data, or reads its value; {FROM_GIVEN}",
    r"[Bb]atching rule not implemented": "torch cannot vectorise one of its operators over the fits of a stack; write "
    "it with others, or declare `stackable = False`",
    r"linalg|infs or NaNs": "a matrix decomposition failed, as it does for values that are not finite and for a matrix "
    "that is not positive definite",
}
SAYS = ". What torch says: "
LONGEST = 160  # characters of what torch says


def explained(error: Exception, method: Method) -> str:
    """Return an explanation of an exception for the author of a method, with the file and line where it arose."""
    said = f"{type(error).__name__}: {str(error).strip()}".partition("\n")[0]
    if meaning := meaning_of(error, method):
        said = said.partition(" We don't support that yet")[0]
        return f"{meaning}{SAYS}{said[:LONGEST]}{'...' if len(said) > LONGEST else ''}"
    return _at_its_line(error, method, said)


def meaning_of(error: Exception, method: Method) -> str | None:
    """Return a sentence that says which rule of the method contract was broken in which line, or None if unknown."""
    meaning = next((words for pattern, words in MEANINGS.items() if re.search(pattern, str(error))), None)
    return _at_its_line(error, method, meaning) if meaning else None


def _at_its_line(error: Exception, method: Method, words: str) -> str:
    line = _line_of(error, method)
    return f"{line}: {words}" if line else words


def _line_of(error: Exception, method: Method) -> str | None:
    """Return the innermost line of the method's own code on the way to an exception: "mine.py, line 41, `x.item()`"."""
    line = None
    for frame, number in _frames(error):
        if _is_own(frame, method):
            file = frame.f_code.co_filename
            line = f"{Path(file).name}, line {number}, `{linecache.getline(file, number).strip()}`"
    return line


def _frames(error: BaseException) -> Iterator[tuple[FrameType, int]]:
    """Yield frame and line number of each call on the way to an exception, the outermost first."""
    trace = error.__traceback__
    while trace:
        yield trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next


def _is_own(frame: FrameType, method: Method) -> bool:
    """Return whether a frame belongs to the package of a method's class, or to the file of a class it derives from."""
    package = type(method).__module__.partition(".")[0]
    if package != "lockstep_bench" and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        return True
    classes = [kind for kind in type(method).__mro__ if kind not in Method.__mro__]
    functions = [member for kind in classes for member in vars(kind).values() if inspect.isfunction(member)]
    return frame.f_code.co_filename in {function.__code__.co_filename for function in functions}
