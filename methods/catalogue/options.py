"""Options of a method in its name: "mfvi(tempering=0.1)" is `mfvi` with another argument of its constructor.

The options of a method are the constructor arguments whose values are numbers, strings or booleans, and of an ensemble
also `members`, its number of networks. This module imports neither torch nor a method.
"""

import inspect
import math
import re
from collections.abc import Callable, Container, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from lockstep_bench.shared.method_names import registered

WRITTEN = re.compile(r"(?P<method>[^()]+)\((?P<options>[^()]*)\)")
Value = bool | int | float | str | None
MEMBERS = "members"  # the option of ensembles
READABLE = (NoneType, bool, int, float, str)  # in the order in which a text is tried


class InvalidOption(ValueError):
    """An option that the method does not have, or a value that it cannot have; the message says what is allowed."""


def texts_of(name: str) -> dict[str, str]:
    """Return the options in a method's name as the strings written there, option -> value; empty without options.

    Raises:
        InvalidOption: the name cannot be read, or it gives an option twice.
    """
    if "(" not in name and ")" not in name:
        return {}
    match = WRITTEN.fullmatch(name.strip())
    texts: dict[str, str] = {}
    for part in match["options"].split(",") if match else [""]:
        option, equals, value = (word.strip() for word in part.partition("="))
        if not equals or not option or not re.fullmatch(r"[\w.+-]+", value):
            raise InvalidOption(f"{name!r} cannot be read; write METHOD(NAME=VALUE), as in mfvi(tempering=0.1)")
        if option in texts:
            raise InvalidOption(f"{name!r} gives {option} twice; leave one out")
        texts[option] = value
    return texts


def with_options(name: str, texts: Mapping[str, str]) -> str:
    """Return a method's name with the options `texts` added, all in alphabetical order."""
    every = sorted((texts_of(name) | dict(texts)).items())
    return f"{registered(name)}({','.join('='.join(pair) for pair in every)})" if every else name


def values_of(
    name: str, constructor: Callable[..., Any], settled: Container[str] = (), *, pooled: bool = False
) -> dict[str, Value]:
    """Return the options in a method's name, with values of the types in its constructor's signature.

    Args:
        name: the method's name.
        constructor: the method's constructor.
        settled: arguments that the registry entry fixes; options in the name cannot change them.
        pooled: whether the method is an ensemble, and so has the option `members`.

    Raises:
        InvalidOption: the method has no such option, or the value is of another type.
    """
    texts = texts_of(name)
    every = _options(constructor) | ({MEMBERS: (int,)} if pooled else {}) if texts else {}
    allowed = {option: kinds for option, kinds in every.items() if option not in settled}
    values = {}
    for option, text in texts.items():
        if option not in allowed:
            has = ", ".join(f"{known} ({_in_words(kinds)})" for known, kinds in allowed.items()) or "none"
            raise InvalidOption(f"{registered(name)} has no option {option!r}; its options are: {has}")
        values[option] = _value(name, option, text, allowed[option])
    return values


def apart(name: str) -> tuple[str, dict[str, int]]:
    """Return the name of an ensemble's method without the option `members`, and this option, if the name has it.

    Raises:
        InvalidOption: the name cannot be read, or the number of members is not an integer of at least 1.
    """
    texts = texts_of(name)
    members = texts.pop(MEMBERS, None)
    inner = with_options(registered(name), texts)
    return inner, {} if members is None else {MEMBERS: _value(name, MEMBERS, members, (int,))}


def in_words(name: str) -> str:
    """Return the options in a method's name for display, as in "tempering = 0.1"; an empty string without options."""
    return ", ".join(f"{option} = {value}" for option, value in texts_of(name).items())


def canonical(name: str, values: Mapping[str, Value]) -> str:
    """Return a method's name with the options `values` in alphabetical order, each value in its shortest form."""
    return with_options(registered(name), {option: _written(value) for option, value in values.items()})


@cache
def _options(constructor: Callable[..., Any]) -> dict[str, tuple[type, ...]]:
    """Return, for each constructor argument, its allowed types among those that can be written as text."""
    try:
        parameters = _parameters(constructor)
    except (NameError, TypeError, ValueError):  # annotations of a third party that cannot be evaluated
        return {}
    options = {}
    for name, parameter in parameters.items():
        union = get_origin(parameter.annotation) in (Union, UnionType)
        kinds = get_args(parameter.annotation) if union else (parameter.annotation,)
        if all(kind in READABLE for kind in kinds):
            options[name] = kinds
    return options


def _parameters(constructor: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a constructor; those of its base class are among them where it passes `**others` on."""
    parameters = inspect.signature(constructor, eval_str=True).parameters
    passed_on = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    base = constructor.__base__ if passed_on and isinstance(constructor, type) else None
    return {**(_parameters(base) if base else {}), **parameters}


def _value(name: str, option: str, text: str, kinds: tuple[type, ...]) -> Any:
    for kind in (kind for kind in READABLE if kind in kinds):
        try:
            return _READERS[kind](text)
        except (ValueError, KeyError):
            continue
    raise InvalidOption(f"{option} of {registered(name)} is {text!r}; it must be {_in_words(kinds)}")


def _count(text: str) -> int:
    if (value := int(text)) < 1:
        raise ValueError(text)
    return value


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(text)
    return value


_READERS: Mapping[type, Callable[[str], Value]] = {
    NoneType: lambda text: {"none": None}[text.lower()],
    bool: lambda text: {"true": True, "false": False}[text.lower()],
    int: _count,
    float: _finite,
    str: str,
}


def _written(value: Value) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _in_words(kinds: tuple[type, ...]) -> str:
    """Return what a value may be: "a number or none"."""
    names = {NoneType: "none", bool: "true or false", int: "an integer of at least 1", float: "a number", str: "a text"}
    return " or ".join(names[kind] for kind in reversed(READABLE) if kind in kinds)
