"""Groups of command-line options: each group is a frozen dataclass whose fields are the options."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from functools import wraps
from typing import Any, get_type_hints

Command = Callable[..., None]


def grouped(groups: type) -> Callable[[Callable[[Any], None]], Command]:
    """Return a decorator that gives a command the options of several groups.

    Args:
        groups: A dataclass whose fields are the groups, each a dataclass with a class attribute `title`, under which
            `--help` shows its options. The fields of a group are annotated with `typer.Option`.

    Returns:
        A decorator of a function of one argument, an instance of `groups`. Typer sees a function of all options.
    """
    kinds = get_type_hints(groups)
    hints = {name: get_type_hints(kind, include_extras=True) for name, kind in kinds.items()}

    def decorate(function: Callable[[Any], None]) -> Command:
        @wraps(function)
        def command(**values: Any) -> None:
            function(groups(**{name: kind(**{key: values[key] for key in _own(kind)}) for name, kind in kinds.items()}))

        every = [(field, kind, hints[name][field.name]) for name, kind in kinds.items() for field in fields(kind)]
        for _, kind, hint in every:
            hint.__metadata__[0].rich_help_panel = kind.title
        parameters = [
            inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=_default(field), annotation=hint)
            for field, _, hint in every
        ]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {field.name: hint for field, _, hint in every}
        return command

    return decorate


def _own(kind: type) -> list[str]:
    return [field.name for field in fields(kind)]


def _default(field: Field[Any]) -> Any:
    return inspect.Parameter.empty if field.default is MISSING else field.default
