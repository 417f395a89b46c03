"""What a method is, for people: title, paper, idea and objective, read without importing the method or torch.

Title, paper and the one line about a variant are in the method's own class, whose source is read. Idea and objective
are a family's, the methods of one module: of ours in `cards.toml`, of a stranger's in attributes `idea` and `objective`
of its class, which say it in words and in LaTeX. What is not there is empty.
"""

import ast
import importlib.util
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from methods.catalogue import registry


class Card(NamedTuple):
    """Attributes: plain text, `objective` LaTeX of one formula; each but `name` and `title` may be empty.

    family: what methods of one idea share; a key. `family_title`: for people.
    variant: the first sentence of the class's docstring.
    """

    name: str
    title: str
    paper: str = ""
    family: str = ""
    family_title: str = ""
    idea: str = ""
    objective: str = ""
    variant: str = ""


def card(name: str) -> Card:
    """The card of the method called `name`; its bare name where nothing can be read about it.

    Never raises: whatever is wrong with a stranger's package must not keep others from being shown.
    """
    if name.startswith(registry.ENSEMBLE):
        inner = card(name.removeprefix(registry.ENSEMBLE))
        return inner._replace(
            name=name, title=f"Ensemble of {inner.title}", variant="Five members, trained apart, are pooled."
        )
    try:
        return _read(name)
    except Exception:  # a stranger's package may raise anything when it is looked at
        return Card(name, name)


def _read(name: str) -> Card:
    if name not in registry.names():
        family = families()[name]
        return Card(name, family["title"], "", name, family["title"], family["idea"], family["objective"])
    entry = registry.target(name)
    source = Path(importlib.util.find_spec(entry.module).origin).read_text(encoding="utf-8")
    facts = _facts(ast.parse(source), entry.attr)
    stem = entry.module.rpartition(".")[2]
    family = families().get(stem, {}) if entry.value == registry.BUILT_IN.get(name) else {}
    title = facts.get("title", name)
    return Card(
        name,
        title,
        facts.get("paper", ""),
        stem if family else name,
        family.get("title", title),
        facts.get("idea", family.get("idea", "")),
        facts.get("objective", family.get("objective", "")),
        facts.get("variant", ""),
    )


@cache
def families() -> dict[str, dict[str, str]]:
    """Our families by the name of their module: title, idea and objective."""
    return tomllib.loads(Path(__file__).with_name("cards.toml").read_text(encoding="utf-8"))


def _facts(module: ast.Module, name: str) -> dict[str, str]:
    """What the class `name` says of itself, or its bases in the same module do, in literals."""
    classes = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}
    found = {}
    for base in reversed(_lineage(classes, name)):
        for statement in base.body:
            if isinstance(statement, ast.Assign):
                found |= _assigned(statement)
    documented = (ast.get_docstring(classes[name]) or "").partition("\n\n")[0]
    sentence = re.split(r"(?<=\.) (?=[A-Z])", " ".join(documented.split()))[0]
    return found | ({"variant": sentence} if sentence else {})


def _lineage(classes: dict[str, ast.ClassDef], name: str) -> list[ast.ClassDef]:
    """The class and its first bases, as far as they are in the module."""
    line = []
    while name in classes and classes[name] not in line:
        line.append(classes[name])
        bases = classes[name].bases
        name = bases[0].id if bases and isinstance(bases[0], ast.Name) else ""
    return line


def _assigned(statement: ast.Assign) -> dict[str, str]:
    """Names and texts of `title = "..."`, of `name, title = "...", "..."` and of `paper = Paper("...", "...")`."""
    (target,) = statement.targets[:1]
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    values = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
    found = {}
    for one, value in zip(names, values, strict=False):
        if not isinstance(one, ast.Name) or one.id not in ("title", "paper", "idea", "objective"):
            continue
        parts = value.args if isinstance(value, ast.Call) else [value]
        texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        if texts:
            found[one.id] = ", ".join(texts)
    return found
