"""Structure, shapes and types of a method's state, which no update may change."""

from typing import Any

from torch import Tensor

from lockstep_bench.bench.engine.private_torch import keystr, tree_flatten_with_path

NO_TENSOR = "no tensor"


def signature(state: Any) -> dict[str, str]:
    """Return each leaf of a pytree by its place: {".weights": "torch.float32 (41,)"}."""
    return {keystr(path): _words(leaf) for path, leaf in tree_flatten_with_path(state)[0]}


def require_equal(method: str, before: Any, after: Any) -> None:
    """Raise TypeError if the state after an update has another structure, or other shapes or types, than before.

    Args:
        method: name of the method.
        before: state that `update` got.
        after: state that it returned.
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
