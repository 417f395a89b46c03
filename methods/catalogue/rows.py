"""The rows of `cards.toml`: the methods of this package, with descriptions, constructor options and attributes.

This module imports neither torch nor a method.
"""

import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

    from lockstep_bench.methods.base import Method

    AnyMethod = TypeVar("AnyMethod", bound=type[Method])

FOR_PAGES = {"title", "idea", "objective", "methods", "module", "summary"}  # of a family, and not of its methods
FOR_PEOPLE = {"title", "paper", "suites", "limits", "covariance", "mean_caveat", "spread_caveat"}  # change no number


class Row(NamedTuple):
    """Entry of `cards.toml` about one method of this package.

    Attributes:
        name: key in the registry.
        family: key of its family in `families`.
        module: full name of the module that defines its class.
        class_name: name of the class.
        options: arguments of the constructor.
        facts: class attributes of the method, a part of `methods.base.Described`.
        idea: idea of the method in one sentence, or else that of its family.
        objective: objective of the method in LaTeX, or else that of its family.
        variant: how the method differs from others of its family; "" where the docstring of the class says it.
    """

    name: str
    family: str
    module: str
    class_name: str
    options: Mapping[str, Any]
    facts: Mapping[str, Any]
    idea: str
    objective: str
    variant: str

    @property
    def target(self) -> str:
        """The method's class in the notation of entry points, "module:class"."""
        return f"{self.module}:{self.class_name}"

    @property
    def settings(self) -> str:
        """Text of all options and attributes in this entry that can change the method's numbers, for comparison."""
        changing = {name: value for name, value in self.facts.items() if name not in FOR_PEOPLE}
        return f"{sorted(self.options.items())} {sorted(changing.items())}"

    def attributes(self) -> dict[str, Any]:
        """Return the class attributes of `Method` that this entry sets, name -> value.

        Imports `methods.base`, and so torch.
        """
        return {"name": self.name} | {name: _attribute(name, value) for name, value in self.facts.items()}


@cache
def families() -> dict[str, dict[str, Any]]:
    """Return the tables of `cards.toml` by key: families of methods, by module name, and estimators of data streams."""
    return tomllib.loads(Path(__file__).with_name("cards.toml").read_text(encoding="utf-8"))


@cache
def rows() -> dict[str, Row]:
    """Return the entries of all methods of this package, by method name."""
    every = [_row(name, key, family) for key, family in families().items() for name in family.get("methods", {})]
    return {row.name: row for row in every}


def catalogued(name: str) -> "Callable[[AnyMethod], AnyMethod]":
    """Return a class decorator that sets name, title and other class attributes from a method's entry in `cards.toml`.

    Args:
        name: name of the method that the class gives with default constructor arguments.
    """

    def with_attributes(cls: "AnyMethod") -> "AnyMethod":
        for attribute, value in rows()[name].attributes().items():
            setattr(cls, attribute, value)
        return cls

    return with_attributes


def _row(name: str, key: str, family: Mapping[str, Any]) -> Row:
    shared = {fact: value for fact, value in family.items() if fact not in FOR_PAGES}
    facts = shared | family["methods"][name]
    module = f"lockstep_bench.methods.{family.get('module', key)}"
    idea, objective = (facts.pop(part, family[part]) for part in ("idea", "objective"))
    name_of_class, options, variant = facts.pop("class"), facts.pop("options", {}), facts.pop("variant", "")
    return Row(name, key, module, name_of_class, options, facts, idea, objective, variant)


def _attribute(name: str, value: Any) -> Any:
    """Return the attribute of `Method` that a value of `cards.toml` stands for."""
    from lockstep_bench.methods.base import Paper

    if name == "paper":
        return Paper(*value)
    if name == "rates":
        return _distribution(value)
    if name.endswith("_ranges"):
        return {hparam: _distribution(ends) for hparam, ends in value.items()}
    return tuple(value) if isinstance(value, list) else value


def _distribution(value: list[float] | Mapping[str, list[float]]) -> "BaseDistribution":
    """Return the distribution that [LOW, HIGH] or {one_of = [...]} stands for."""
    from lockstep_bench.methods.maths.search_spaces import LogUniform, OneOf

    return LogUniform(*value) if isinstance(value, list) else OneOf(*value["one_of"])
