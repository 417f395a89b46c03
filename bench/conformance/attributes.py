"""Check that a method does not store data of a fit in its attributes.

This would go wrong, because its functions are traced once and then run for many fits side by side.
"""

import pickle
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from functools import wraps
from inspect import isroutine
from typing import Any

from lockstep_bench.bench.conformance.examined import Examined, require
from lockstep_bench.methods.base import HOOKS, FullBatchMethod, Method

FITS = 2
LONGEST = 30  # characters of a value in the message


def keeps_nothing_in_itself(examined: Examined) -> str:
    """Train fits and predict, and check that no later call changes an attribute.

    New attributes may be caches and pass.
    """
    change = first_change(examined)
    require(not change, change)
    return f"no attribute changes in {FITS} fits and their predictions"


def first_change(examined: Examined) -> str:
    """Return a sentence about an attribute of the method or its class that changes from call to call; "" if none does.

    The calls are made on the first task.
    """
    method = copy(examined.method)
    changes: list[str] = []
    seen: dict[str, tuple[bytes | int, str]] = {}

    def noted(hook: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            result = function(*arguments, **options)
            now = dict(_attributes(method))
            changes.extend(
                f"`{hook}` changes `{name}`, from {seen[name][1]} to {value}"
                for name, (state, value) in now.items()
                if seen.get(name, (state,))[0] != state
            )
            seen.update(now)
            return result

        return call

    hooks = {hook: noted(hook, getattr(method, hook)) for hook in HOOKS if hasattr(method, hook)}
    vars(method).update(hooks)
    twin = Examined(method, examined.tasks[:1], examined.device)
    for _ in range(FITS):
        twin.predictives(twin.train(twin.tasks[0], (0,), stacked=False))
    if not changes:
        return ""
    return (
        f"{changes[0]}. A method is traced once, and its calls run for many fits side by side: keep nothing in `self` "
        "or its class. What changes belongs in the state, and the number of an update is `step.count`"
    )


def _attributes(method: Method) -> Iterator[tuple[str, tuple[bytes | int, str]]]:
    """Yield (name, fingerprint, description) of each attribute of a method and of its own classes."""
    owners: list[tuple[str, Mapping[str, Any]]] = [("self", vars(method))]
    owners += [(kind.__name__, vars(kind)) for kind in type(method).__mro__ if kind not in FullBatchMethod.__mro__]
    for owner, attributes in owners:
        for name, value in attributes.items():
            if not (name.startswith("__") or name in HOOKS or isroutine(value) or hasattr(value, "__get__")):
                words = repr(value)
                yield f"{owner}.{name}", (_fingerprint(value), words[:LONGEST] + "..." * (len(words) > LONGEST))


def _fingerprint(value: Any) -> bytes | int:
    try:
        return pickle.dumps(value)
    except Exception:  # pickle raises many types; such an object counts as changed where another takes its place
        return id(value)
