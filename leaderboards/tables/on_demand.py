"""Mappings whose values are computed when they are first read."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TypeVar

Value = TypeVar("Value")


class OnDemand(Mapping[str, Value]):
    """Mapping from names to values, each of which is computed when it is first read.

    Args:
        names: the names, in the order of iteration.
        compute: function that returns the value of a name.
    """

    def __init__(self, names: Collection[str], compute: Callable[[str], Value]) -> None:
        self._names, self._compute = names, compute
        self._computed: dict[str, Value] = {}

    def __getitem__(self, name: str) -> Value:
        """Return the value of a name."""
        if name not in self._computed:
            if name not in self._names:
                raise KeyError(name)
            self._computed[name] = self._compute(name)
        return self._computed[name]

    def __contains__(self, name: object) -> bool:
        """Return whether the mapping has the name; its value is not computed."""
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        """Return the names."""
        return iter(self._names)

    def __len__(self) -> int:
        """Return the number of names."""
        return len(self._names)
