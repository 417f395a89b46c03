"""Writes the starter package of a new method, for `python -m methods new NAME`."""

import importlib.util
import keyword
import os.path
import re
import reprlib
from importlib.resources import files
from pathlib import Path

from lockstep_bench.methods.catalogue import registry

# The module is in `src`: a folder of the module's own name would hide it from Python where a command starts beside it.
TEMPLATES = ("pyproject.toml", "src/my_method.py", "tests/test_my_method.py")

SHORT = reprlib.Repr()
SHORT.maxstring = 200  # characters of a name or path that a message shows


class CannotCreate(ValueError):
    """A new method cannot have this name or folder; the message says why."""


def write(name: str, folder: Path) -> list[Path]:
    """Write the package of a new method.

    Args:
        name: name of the method, as in `my-method`.
        folder: destination, which must be empty or not exist.

    Returns:
        The paths of the files.

    Raises:
        CannotCreate: if the method cannot have this name or folder.
    """
    module = _module_of(name)
    words = {
        "my-method": name,
        "my_method": module,
        "MyMethod": "".join(part.capitalize() for part in module.split("_")),
        "My method": module.replace("_", " ").capitalize(),
    }
    contents = {}
    for template in TEMPLATES:
        text = (
            files("lockstep_bench.methods.catalogue")
            .joinpath("templates", *template.split("/"))
            .read_text(encoding="utf-8")
        )
        contents[folder / _replaced(template, words)] = _replaced(text, words)
    try:
        if os.path.lexists(folder) and (not folder.is_dir() or any(folder.iterdir())):
            raise CannotCreate(f"{folder} exists and is not an empty folder; choose another with --into")
        for path, text in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        place = SHORT.repr(str(error.filename or folder))
        raise CannotCreate(f"{place} cannot be written: {error.strerror}; choose another with --into") from None
    return list(contents)


def _module_of(name: str) -> str:
    """Return the name of a method's module, which must be new."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) or not registry.NAME.fullmatch(name):
        raise CannotCreate(
            f"a method cannot be called {SHORT.repr(name)}; use words of lower-case letters and digits, 100 characters "
            "at most: my-method"
        )
    if name in registry.RESERVED:
        raise CannotCreate(f"a method cannot be called {name!r}: on the command line the word names several methods")
    if name in registry.names():
        raise CannotCreate(f"there is a method {name!r} already; choose another name")
    module = name.replace("-", "_")
    spec = importlib.util.find_spec(module)
    if keyword.iskeyword(module) or (spec and spec.origin):  # a mere folder of that name has no origin
        raise CannotCreate(f"a method cannot be called {name!r}: Python has a word or a module {module!r} already")
    return module


def _replaced(text: str, words: dict[str, str]) -> str:
    return re.sub("|".join(map(re.escape, words)), lambda match: words[match[0]], text)
