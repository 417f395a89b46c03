"""Check that an update does not change the structure, shapes and types of a method's state."""

from typing import Any

from torch import Tensor

from lockstep_bench.bench.engine.private_torch import keystr, tree_flatten_with_path

NO_TENSOR = "no tensor"


def signature(state: Any) -> dict[str, str]:
    """Return type and shape of each leaf of a pytree, by the leaf's path: {".weights": "torch.float32 (41,)"}."""
    return {keystr(path): _words(leaf) for path, leaf in tree_flatten_with_path(state)[0]}


def require_equal(method: str, before: Any, after: Any) -> None:
    """Raise TypeError if an update has changed the structure, the shapes or the types of the state.

    Args:
        method: name of the method.
        before: state that `update` got.
        after: state that `update` returned.
    """
    given, returned = signature(before), signature(after)
    if given == returned:
        return
    changes = [
        f"state{place} was {given.get(place, 'missing')} and is {returned.get(place, 'missing')}"
        for place in {**given, **returned}
        if given.get(place) != returned.get(place)
    ]
    raise TypeError(
        f"{method}.update must return a state of the structure, shapes and types that it got; {', '.join(changes)}"
    )


def _words(leaf: Any) -> str:
    return f"{leaf.dtype} {tuple(leaf.shape)}" if isinstance(leaf, Tensor) else NO_TENSOR
