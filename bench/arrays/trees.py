"""Conversion of nested containers of tensors and arrays to JSON and a list of arrays, and back, without pickle."""

import importlib
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lockstep_bench.bench.engine.vectorise import PerReplica

PLAIN = (bool, int, float, str, type(None))


def packed(tree: Any, tensors: list[np.ndarray]) -> Any:
    """Return a nested container as JSON data, in which tensors and arrays are replaced by their index in `tensors`.

    The tensors and arrays are appended to the list `tensors`.

    Raises:
        TypeError: A part is not a container, tensor, array, number or string.
    """
    if isinstance(tree, Tensor):
        tensors.append(tree.detach().cpu().numpy())
        return {"tensor": len(tensors) - 1}
    if isinstance(tree, np.ndarray) and tree.dtype != object:
        tensors.append(tree)
        return {"array": len(tensors) - 1}
    if isinstance(tree, PerReplica):
        return {"replicas": [packed(tree[number], tensors) for number in range(len(tree))]}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        kind = f"{type(tree).__module__}:{type(tree).__name__}"
        if _record(kind) is not type(tree):
            raise TypeError(f"{kind} could not be imported to load the file; define the class at the top of a module")
        return {"record": kind, "parts": [packed(part, tensors) for part in tree]}
    if isinstance(tree, tuple | list):
        return {type(tree).__name__: [packed(part, tensors) for part in tree]}
    if isinstance(tree, dict) and all(isinstance(key, str) for key in tree):
        return {"dict": {key: packed(part, tensors) for key, part in tree.items()}}
    if type(tree) in PLAIN:
        return {"value": tree}
    raise TypeError(f"a {type(tree).__name__} cannot be saved without pickle; tensors, arrays, numbers and strings can")


def unpacked(packed_tree: Any, tensors: Sequence[np.ndarray], device: torch.device) -> Any:
    """Return the nested container that `packed` turned into JSON data and arrays, with its tensors on a device.

    Raises:
        ValueError: The JSON data do not come from `packed`, or name a class that is not a named tuple of an imported
            module.
    """
    match packed_tree:
        case {"tensor": int(number)}:
            return torch.tensor(tensors[number], device=device)
        case {"array": int(number)}:
            return tensors[number]
        case {"replicas": list(parts)}:
            return PerReplica([unpacked(part, tensors, device) for part in parts])
        case {"record": str(kind), "parts": list(parts)}:
            record = _record(kind)
            if record is None or len(parts) != len(record._fields):
                raise ValueError(f"{kind} is not a named tuple of {len(parts)} fields in an installed method")
            return record(*(unpacked(part, tensors, device) for part in parts))
        case {"tuple": list(parts)}:
            return tuple(unpacked(part, tensors, device) for part in parts)
        case {"list": list(parts)}:
            return [unpacked(part, tensors, device) for part in parts]
        case {"dict": dict(parts)}:
            return {key: unpacked(part, tensors, device) for key, part in parts.items()}
        case {"value": value} if type(value) in PLAIN:
            return value
    raise ValueError(f"{packed_tree!r:.80} is no part of a saved posterior")


def _record(kind: str) -> Any:
    """Return the class of named tuples called "module:name", or None. Imports modules of `methods` only.

    A file could name any module, whose import would execute its code.
    """
    module, _, name = kind.partition(":")
    if module not in sys.modules and module.startswith("lockstep_bench.methods."):
        importlib.import_module(module)
    found = vars(sys.modules.get(module, object)).get(name)
    return found if isinstance(found, type) and issubclass(found, tuple) and hasattr(found, "_fields") else None
