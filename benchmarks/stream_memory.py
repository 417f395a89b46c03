"""Memory and time of online factor analysis in high dimension: `python -m benchmarks.stream_memory --dim 10000000`.

For vectors of dimension D and K factors, the state has O(D K) numbers; a dense covariance would have D^2. The peak also
includes temporaries of an update, and the decomposition that gives the initial factors. Updates are called one by one,
as in a training loop.
"""

import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from lockstep_bench.shared.door import Door

UPDATES = 3  # first with fixed factors and variances, then as many that learn them

app = Door()


class Use(NamedTuple):
    """Memory (MiB) and time (seconds) of one fit of online factor analysis.

    Attributes:
        state_mib: size of the state.
        init_mib: peak memory of the initialisation, on top of what the process held before.
        update_mib: peak memory of the updates, on top of what the process held before.
        seconds: time of one update that learns factors and variances.
    """

    state_mib: float
    init_mib: float
    update_mib: float
    seconds: float


@app.command()
def memory(
    dim: Annotated[int, typer.Option(help="D, numbers in a vector.", min=1)] = 10_000_000,
    latent: Annotated[int, typer.Option(help="K, latent factors.", min=1)] = 10,
    device: Annotated[str, typer.Option(help="cpu, cuda or cuda:N.")] = "cpu",
) -> None:
    """Print state size, peak memory and time per vector of online EM and online SGA, in float32."""
    if latent > dim:
        raise typer.BadParameter(f"--latent {latent}: there cannot be more factors than the {dim} dimensions")

    table = Table(
        title=f"D = {dim:,}, K = {latent} ({device}, 1 thread); the dense covariance: {dim**2 / 2**18:,.0f} MiB"
    )
    table.add_column("estimator")
    for heading in ("state, MiB", "peak at the start, MiB", "peak of updates, MiB", "seconds per vector"):
        table.add_column(heading, justify="right")
    for name in ("online-em-fa", "online-sga-fa"):
        use = in_new_process(name, dim, latent, device)
        table.add_row(name, *(f"{number:,.1f}" for number in use[:3]), f"{use.seconds:.2g}")
    Console().print(table)


def in_new_process(*arguments: Any) -> Use:
    """Return the result of `measured` in a new process, where memory freed earlier cannot hide the peak."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measured, *arguments).result()


def measured(name: str, dim: int, latent: int, device: str = "cpu") -> Use:
    """Return memory and time of the online estimator `name` for vectors of size `dim` and `latent` factors."""
    import torch

    from lockstep_bench.bench.engine.private_torch import tree_leaves
    from lockstep_bench.bench.environment.memory import peak_mib, reset_peak
    from lockstep_bench.bench.experiment.estimators import ESTIMATORS
    from lockstep_bench.methods.maths.noise import Noise

    torch.set_num_threads(1)
    estimator: Any = ESTIMATORS[name].load()
    algorithm, place = estimator.algorithm, torch.device(device)
    generator = torch.Generator(device=place).manual_seed(0)
    reset_peak(place)
    before = peak_mib(place)
    with torch.no_grad():
        state = algorithm.init(dim, latent, Noise(torch.randn(dim * latent, generator=generator, device=place)))
        init = peak_mib(place) - before
        reset_peak(place)
        for learn in (False, True):
            for _ in range(UPDATES):
                theta = torch.randn(dim, generator=generator, device=place)
                started = time.perf_counter()
                state = state.update(theta, learn)
                if place.type == "cuda":
                    torch.cuda.synchronize(place)
                seconds = time.perf_counter() - started
        peak = peak_mib(place) - before
    return Use(sum(part.nbytes for part in tree_leaves(state)) / 2**20, init, peak, seconds)


if __name__ == "__main__":
    app()
