"""Replacement of the convolutions of a captured update by compiled ones (`bench.native.stages`).

On one core, the stages of LeNet-5 take about a quarter of the time of torch's operations, whose convolutions are made
for more channels.
"""

from collections.abc import Mapping
from operator import getitem
from typing import Any, NamedTuple

import torch
from torch.fx import GraphModule, Node

from lockstep_bench.bench.engine.private_torch import aten
from lockstep_bench.bench.native.stages import Stage

BACKWARD = aten.avg_pool2d_backward.default, aten.threshold_backward.default, aten.convolution_backward.default

# Stride, padding and further options of a pooling, if nobody has set them.
OF_POOLING: tuple[Any, ...] = ([], [0, 0], False, True, None)


class _Found(NamedTuple):
    """Operations of one stage in a graph.

    Attributes:
        stage: the stage.
        convolution: its first operation.
        pooling: its last operation.
        gradients: the first and the last operation of each gradient of the stage.
    """

    stage: Stage
    convolution: Node
    pooling: Node
    gradients: list[tuple[Node, Node]]


def use_native_stages(module: GraphModule, examples: Mapping[Node, Any]) -> None:
    """Replace, in a graph, the operations of each stage that can be compiled.

    Args:
        module: graph of an update.
        examples: the value of every node for example inputs.

    Raises:
        NoCompiler: if a stage cannot be compiled.
    """
    found = [
        stage
        for node in module.graph.nodes
        if node.target is aten.convolution.default and (stage := _found(node, examples))
    ]
    for stage in found:
        stage.stage.library()
    for stage in found:
        _replace(module, stage)
    module.graph.eliminate_dead_code()
    module.recompile()


def _found(convolution: Node, examples: Mapping[Node, Any]) -> _Found | None:
    """Return the stage that begins with a convolution; None if it cannot be compiled."""
    users = list(convolution.users)
    if len(users) != 1 or users[0].target is not aten.relu.default:
        return None
    (rectifier,) = users
    pools = [node for node in rectifier.users if node.target is aten.avg_pool2d.default]
    backward = [steps for node in rectifier.users if (steps := _gradient(node, convolution, rectifier))]
    known = {*pools, *(node for steps in backward for node in steps[:2])}
    if len(pools) != 1 or set(rectifier.users) - known:
        return None
    stage = _stage(convolution, pools[0], backward, examples)
    return stage and _Found(stage, convolution, pools[0], [(steps[0], steps[-1]) for steps in backward])


def _gradient(node: Node, convolution: Node, rectifier: Node) -> tuple[Node, Node, Node] | None:
    """Return the operations of a gradient of a stage that begin with a node; None if it begins another gradient."""
    steps = [node]
    for target in BACKWARD[1:]:
        users = list(steps[-1].users)
        if len(users) != 1 or users[0].target is not target:
            return None
        steps.append(users[0])
    of_pool, of_rectifier, of_convolution = steps
    belongs = (
        of_pool.target is BACKWARD[0]
        and of_rectifier.args == (of_pool, rectifier, 0)
        and of_convolution.args[:3] == (of_rectifier, *convolution.args[:2])
    )
    return (of_pool, of_rectifier, of_convolution) if belongs else None


def _stage(
    convolution: Node, pool: Node, backward: list[tuple[Node, Node, Node]], examples: Mapping[Node, Any]
) -> Stage | None:
    """Return the stage of a convolution and a pooling; None if they are not of the kind that can be compiled."""
    arguments: tuple[Any, ...] = convolution.args
    x, weight, bias, stride, padding, dilation, transposed, _, groups = arguments
    if bias is None or any(examples[node].dtype != torch.float32 for node in (x, weight, bias)):
        return None
    plain = (list(stride), list(dilation), transposed, groups) == ([1, 1], [1, 1], False, 1)
    _, channels, height, width = examples[x].shape
    channels_out, _, kernel, across = examples[weight].shape
    side = _side(pool.args[1:])
    pooled = side > 0 and all(_side(steps[0].args[2:]) == side for steps in backward)
    if not (plain and pooled and kernel == across and padding[0] == padding[1] < kernel):
        return None
    return Stage(channels, height, width, channels_out, kernel, padding[0], side)


def _side(arguments: tuple[Any, ...]) -> int:
    """Return the side of the squares that a pooling averages; 0 if they overlap, are padded or are no squares."""
    (height, width), *options = arguments
    usual = all(
        (list(given) if isinstance(default, list) else given) == default
        for given, default in zip(options, OF_POOLING, strict=False)
    )
    return height if usual and height == width else 0


def _replace(module: GraphModule, found: _Found) -> None:
    stage = found.stage
    x, weight, bias = found.convolution.args[:3]
    with module.graph.inserting_before(found.pooling):
        both = module.graph.call_function(stage.forward, (x, weight, bias))
        outputs, signs = (module.graph.call_function(getitem, (both, number)) for number in range(2))
    found.pooling.replace_all_uses_with(outputs)
    for of_pool, of_convolution in found.gradients:
        needed: Any = of_convolution.args[-1]
        with module.graph.inserting_before(of_convolution):
            gradients = module.graph.call_function(stage.backward, (of_pool.args[0], signs, x, weight, needed[0]))
        of_convolution.replace_all_uses_with(gradients)
