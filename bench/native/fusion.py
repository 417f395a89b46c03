"""Fused multiply-add: a product and the sum that it goes into as one instruction (`multiply_add` in C++).

The choice is made once, before the memory layout is known, so that a fit has the same bits in both layouts.
"""

import re
from dataclasses import replace

import torch

from lockstep_bench.bench.native.memory import operands, targets
from lockstep_bench.bench.native.values import Compute, Nest, Program, Value

FACTOR = r"(\{\d+\}|splat\(\w+\([^()]*\)\))"
PRODUCT = re.compile(rf"{FACTOR} \* {FACTOR}")
SUM = re.compile(rf"{FACTOR} ([+-]) {FACTOR}")


def fuse(program: Program) -> None:
    """Fuse every sum of single-precision numbers with a product of the same nest that is one of its terms.

    Where both terms are products, the second is fused. A product that nothing else needs is no longer computed.
    """
    outputs = {view.value for view in program.outputs}
    for nest in (*program.once, *program.nests):
        _fuse(nest, outputs)


def _fuse(nest: Nest, outputs: set[Value]) -> None:
    products = dict[Value | None, Compute]()
    fused = set[Value]()
    for number, statement in enumerate(nest.statements):
        if not isinstance(statement, Compute) or statement.target.dtype != torch.float32:
            continue
        if PRODUCT.fullmatch(statement.expression):
            products[statement.target] = statement
        elif match := SUM.fullmatch(statement.expression):
            left, sign, right = match.groups()
            for product_sign, term, other_sign, other in ((sign, right, "+", left), ("+", left, sign, right)):
                product = products.get(_value(term, statement))
                if product:
                    nest.statements[number] = _fused(statement, product_sign, product, other_sign, other)
                    fused.add(product.target)
                    break
    read = {view.value for statement in nest.statements for view in operands(statement)}
    unneeded = {value for value in fused - read - outputs if not value.stored}
    nest.statements = [step for step in nest.statements if not unneeded.issuperset(targets(step))]


def _value(term: str, statement: Compute) -> Value | None:
    """Return the value that a term of an expression names; None if it is a number, or not a whole value."""
    view = statement.operands[int(term[1:-1])] if term.startswith("{") else None
    return view.value if view and view.is_whole else None


def _fused(statement: Compute, product_sign: str, product: Compute, other_sign: str, other: str) -> Compute:
    """Return a sum of a product and another term as one expression of the operands of both."""
    views, minus = product.operands, {"+": "", "-": "-"}
    if other.startswith("{"):
        views, other = (*views, statement.operands[int(other[1:-1])]), f"{{{len(views)}}}"
    first, second = product.expression.split(" * ")
    text = f"multiply_add({minus[product_sign]}{first}, {second}, {minus[other_sign]}{other})"
    return replace(statement, expression=text, operands=views)
