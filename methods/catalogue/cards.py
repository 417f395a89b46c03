"""Descriptions of methods for web pages: title, paper, idea and objective, read without importing the method or torch.

A family is all methods of one module. Its methods share idea and objective, unless `cards.toml` gives a method its own.
Texts about built-in methods are in `cards.toml`.

Title, paper and variant of a third-party method are read from the source of its class. The class can also have the
attributes `idea` (one sentence) and `objective` (LaTeX). Without them, the first line and the first indented block of
its module's docstring serve as idea and objective. Missing parts are empty strings.
"""

import ast
import re
import textwrap
from typing import NamedTuple

from lockstep_bench.methods.catalogue import options, registry
from lockstep_bench.methods.catalogue.rows import families, rows
from lockstep_bench.shared.method_names import registered


class Card(NamedTuple):
    """Description of a method. Every text but `name` and `title` may be empty.

    Attributes:
        name: registry key of the method.
        title: display name of the method.
        paper: authors, year and title of the paper.
        family: key of the family, the name of its module.
        family_title: display name of the family.
        idea: the family's idea in one sentence.
        objective: the family's objective, as LaTeX of one formula.
        variant: how this method differs from others of its family; by default the first sentence of its class's
            docstring.
        formula_text: the objective as plain text, for a third-party method that has no `objective`.
    """

    name: str
    title: str
    paper: str = ""
    family: str = ""
    family_title: str = ""
    idea: str = ""
    objective: str = ""
    variant: str = ""
    formula_text: str = ""


def card(name: str) -> Card:
    """Return the card of a method, or of an estimator in `cards.toml`; if nothing can be read, it holds only the name.

    Never raises, so that a broken third-party package does not prevent the display of other methods.
    """
    try:
        if name.startswith(registry.ENSEMBLE):
            return _card_of_ensemble(name)
        read = _read(registered(name))
        if said := options.in_words(name):
            return read._replace(name=name, title=f"{read.title}, {said}", variant=f"With {said}. {read.variant}")
        return read
    except Exception:  # the source of a third-party package may raise anything when it is read
        return Card(name, name)


def _card_of_ensemble(name: str) -> Card:
    member, size = options.apart(name.removeprefix(registry.ENSEMBLE))
    inner, number = card(member), str(size.get(options.MEMBERS, "five"))
    title = f"Ensemble of {f'{number} x ' if size else ''}{inner.title}"
    return inner._replace(name=name, title=title, variant=f"Pools {number} independently trained members.")


def _read(name: str) -> Card:
    if name not in registry.names():
        estimator = families()[name]
        return Card(name, estimator["title"], "", name, estimator["title"], estimator["idea"], estimator["objective"])
    entry = registry.target(name)
    module = registry.source(entry)
    if row := rows().get(name):
        family, paper = families()[row.family], ", ".join(row.facts["paper"])
        variant = row.variant or _variant(module, row.class_name)
        return Card(name, row.facts["title"], paper, row.family, family["title"], row.idea, row.objective, variant)
    facts = _facts(module, entry.attr)
    first_line, formula = _documented(ast.get_docstring(module) or "")
    title = facts.get("title", name)
    return Card(
        name,
        title,
        facts.get("paper", ""),
        name,
        title,
        facts.get("idea", first_line),
        facts.get("objective", ""),
        _variant(module, entry.attr),
        "" if "objective" in facts else formula,
    )


def _facts(module: ast.Module, name: str) -> dict[str, str]:
    """Return the texts that a class, or its bases in the same module, assign to attributes with names of `Card`."""
    classes = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}
    texts: dict[str, str] = {}
    for base in reversed(_lineage(classes, name)):
        for statement in base.body:
            if isinstance(statement, ast.Assign):
                texts |= _assigned(statement)
    return texts


def _variant(module: ast.Module, name: str) -> str:
    """Return the first sentence of a class's docstring."""
    (defined,) = (node for node in module.body if isinstance(node, ast.ClassDef) and node.name == name)
    documented = (ast.get_docstring(defined) or "").partition("\n\n")[0]
    return re.split(r"(?<=\.) (?=[A-Z])", " ".join(documented.split()))[0]


def _documented(docstring: str) -> tuple[str, str]:
    """Return the first line of a docstring, and its first indented block without indentation and final stop."""
    blocks = docstring.split("\n\n")
    indented = (block for block in blocks[1:] if all(line.startswith("    ") for line in block.splitlines()))
    return docstring.partition("\n")[0], textwrap.dedent(next(indented, "")).rstrip(",. ")


def _lineage(classes: dict[str, ast.ClassDef], name: str) -> list[ast.ClassDef]:
    """Return the class and the chain of its first bases, as far as they are defined in the module."""
    lineage: list[ast.ClassDef] = []
    while name in classes and classes[name] not in lineage:
        lineage.append(classes[name])
        bases = classes[name].bases
        name = bases[0].id if bases and isinstance(bases[0], ast.Name) else ""
    return lineage


def _assigned(statement: ast.Assign) -> dict[str, str]:
    """Return the text of each attribute of `Card` that a statement assigns.

    Reads `title = "..."`, `name, title = "...", "..."` and `paper = Paper("...", "...")`.
    """
    target = statement.targets[0]
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    values = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
    assigned = {}
    for name, value in zip(names, values, strict=False):
        if not isinstance(name, ast.Name) or name.id not in ("title", "paper", "idea", "objective"):
            continue
        parts = value.args if isinstance(value, ast.Call) else [value]
        texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        if texts:
            assigned[name.id] = ", ".join(texts)
    return assigned
