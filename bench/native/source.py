"""The C++ source of a training loop, which updates all replicas of a stack, block by block.

A block consists of as many replicas as there are SIMD lanes, or of one replica (`bench.native.layouts`).
"""

from collections.abc import Sequence

import torch

from lockstep_bench.bench.native.layouts import Layout
from lockstep_bench.bench.native.loops import LoopWriter
from lockstep_bench.bench.native.memory import Workspace, stored_roots
from lockstep_bench.bench.native.row_tiles import RowTiles, row_tiles
from lockstep_bench.bench.native.values import Program, Value

TEMPLATE = """\
#include "within.hpp"

#include <utility>

{constants}

extern "C" int64_t width() {{ return {scale}; }}
extern "C" int64_t workspace_bytes() {{ return {workspace_bytes} * {scale}; }}
{opened}

// Makes updates of the replicas of some blocks. `fixed`, `state` and `next_state` hold for each tensor the numbers of
// all blocks. What an update computes goes to `next_state` where it cannot replace the old numbers. Then the two change
// places, perhaps by way of other tensors that hold what was in them.
extern "C" void run(int64_t first_block, int64_t last_block, int64_t n_updates, int64_t first_update,
                    int64_t n_replicas, const double* data_x, const double* data_y, const int64_t* rows,
                    void** fixed, void** state, void** next_state, uint64_t* generators, char* workspace) {{
FlushSubnormals flush;
for (int64_t block = first_block; block < last_block; block++) {{
{block_pointers}
{once}
for (int64_t update = 0; update < n_updates; update++) {{
const {float} count[1] = {{{float}{{}} + float(first_update + update)}};
{inputs}
{update_pointers}
{nests}
{swaps}
}}
}}
}}
{closed}
"""


def source_of(
    program: Program,
    fixed: Sequence[Value],
    state: Sequence[Value],
    origins: Sequence[int | None],
    index: Value,
    noise: Value,
    count: Value,
    layout: Layout,
) -> str:
    """Return the C++ source of a training loop.

    Args:
        program: program of one update.
        fixed: values that stay the same during training.
        state: leaves of the state.
        origins: result of `bench.native.nests.bind`.
        index: row numbers of the minibatches of an update.
        noise: random numbers of an update.
        count: number of the update.
        layout: layout of the memory.
    """
    workspace, writer, scale = Workspace(layout), LoopWriter(layout), layout.scale
    block_pointers, homes = _leaves(program, fixed, state, origins, layout)
    count.pointer = "count"
    block_pointers.append(workspace.keep(index, "index"))
    inputs = []
    if index.fixed:
        block_pointers.append(f"load_rows<{index.size}>(index, rows, block, n_replicas);")
    else:
        inputs.append(f"load_rows<{index.size}>(index, rows + update * n_replicas * {index.size}, block, n_replicas);")
    if noise.size:
        place = f"generators + block * {4 + layout.slack} * {scale}"
        block_pointers += [workspace.keep(noise, "noise"), f"Sfc64& generator = *(Sfc64*)({place});"]
        inputs.append(f"fill_normal(generator, noise, {noise.size});")
    block_pointers += [workspace.keep(value) for value in stored_roots(program.once)]
    update_pointers, tiles = _shared(program, homes, workspace, layout)
    once = list(writer.lines(program.once))
    nests = list(tiles.lines(writer) if tiles else writer.lines(program.nests))
    parts = {
        "constants": list(writer.declarations()),
        "block_pointers": block_pointers,
        "once": once,
        "inputs": inputs,
        "update_pointers": update_pointers,
        "nests": nests,
        "swaps": _swaps(origins),
    }
    return TEMPLATE.format(
        workspace_bytes=workspace.size,
        scale=scale,
        float=layout.type_of(torch.float32),
        opened="" if layout.across else "namespace within {",
        closed="" if layout.across else "}",
        **{name: "\n".join(lines) for name, lines in parts.items()},
    )


def _shared(
    program: Program, homes: dict[Value, str], workspace: Workspace, layout: Layout
) -> tuple[list[str], RowTiles | None]:
    """Assign memory to the values of an update; return their declarations, and its row tiles, if it has any."""
    tiles = row_tiles(program, layout)
    if tiles is None:
        return workspace.share(program.nests, homes), None
    first = len(tiles.before)
    repeated = range(first, first + len(tiles.nests))
    nests = [*tiles.before, *tiles.nests, *tiles.after]
    return workspace.share(nests, homes, repeated, tiles.kept, tiles.local), tiles


def _leaves(
    program: Program, fixed: Sequence[Value], state: Sequence[Value], origins: Sequence[int | None], layout: Layout
) -> tuple[list[str], dict[Value, str]]:
    """Return the pointers to a block's tensors, and those outputs of the program that are computed in their memory."""
    pointers = [_pointer(value, f"fixed{number}", f"fixed[{number}]", layout) for number, value in enumerate(fixed)]
    pointers += [_pointer(value, f"state{number}", f"state[{number}]", layout) for number, value in enumerate(state)]
    homes = {}
    for number, (origin, leaf) in enumerate(zip(origins, state, strict=True)):
        output = program.outputs[number].value
        if origin is None:
            pointers.append(_pointer(output, f"next{number}", f"next_state[{number}]", layout))
        if origin is None or origin == number:
            homes[output] = output.pointer if origin is None else leaf.pointer
    return pointers, homes


def _swaps(origins: Sequence[int | None]) -> list[str]:
    """Return the statements after which the pointers of the state show the next state."""
    return [
        f"std::swap({array}, next{chain[0]});" for chain in chains(origins) for array in map("state{}".format, chain)
    ]


def chains(origins: Sequence[int | None]) -> list[list[int]]:
    """Return groups (chains) of state leaves whose buffers are swapped after each update, in the order of the swaps.

    The first leaf of a chain is computed in new memory. Each leaf of the chain is swapped with this new memory in turn.

    Args:
        origins: result of `bench.native.nests.bind`.
    """
    after = {origin: number for number, origin in enumerate(origins) if origin is not None and origin != number}
    found = []
    for number, origin in enumerate(origins):
        if origin is None:
            chain = [number]
            while chain[-1] in after:
                chain.append(after[chain[-1]])
            found.append(chain)
    return found


def _pointer(value: Value, name: str, array: str, layout: Layout) -> str:
    """Name a value's memory; return the declaration of the pointer to the present block's part of it."""
    value.pointer = name
    kind = layout.type_of(value.dtype)
    return f"{kind}* {name} = ({kind}*){array} + block * {value.size + layout.slack};"
