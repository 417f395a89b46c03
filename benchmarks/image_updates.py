"""Time of an update of LeNet-5: in torch's operations, and through captured graphs.

    python -m benchmarks.image_updates --methods map,mfvi,swag
    python -m benchmarks.image_updates --device cpu --updates 60

On a GPU, the graphs are CUDA graphs. On a CPU, stages of the network are compiled.

The images are noise, 60,000 of 28 x 28 pixels. Hyper-parameters are the middle of their ranges. The time of an update
is the difference between a longer and a shorter training of the same networks, divided by the difference in the number
of updates, so that it includes neither the start nor the recording of graphs. It is the median of three differences.
"""

import time
from collections.abc import Callable, Iterator
from math import prod
from statistics import median
from typing import Annotated, Any

import numpy as np
import torch
import typer

from lockstep_bench import methods
from lockstep_bench.bench.engine.graphed_series import train_in_graphs
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.plain_sgd import finish
from lockstep_bench.bench.engine.rates import cosine
from lockstep_bench.bench.engine.replica import Data, Fit, ReplicaModel
from lockstep_bench.bench.engine.sequential_training import train_singly
from lockstep_bench.bench.engine.series import Series
from lockstep_bench.bench.engine.training_record import TrainingRecord
from lockstep_bench.bench.evaluation.tuning.tuner import Centred
from lockstep_bench.bench.experiment.tasks import image_network
from lockstep_bench.methods.maths.likelihoods import Categorical
from lockstep_bench.methods.problem import Task

IMAGE, N_CLASSES, N_IMAGES, BATCH_SIZE = (1, 28, 28), 10, 60_000, 128
REPEATS = 3

app = typer.Typer(add_completion=False)

Train = Callable[..., Iterator[Any]]
WAYS: dict[str, Train] = {"operations": train_singly, "graphs": train_in_graphs}


def milliseconds(name: str, data: Data, train: Train, n_fits: int, updates: tuple[int, int]) -> float:
    """Return the time of one update of one network.

    Args:
        name: name of the method.
        data: the images and their classes.
        train: `train_singly` or `train_in_graphs`.
        n_fits: number of fits that are trained, one after the other; each has the method's number of networks.
        updates: numbers of updates of the shorter and of the longer training.
    """
    task = Task("noise", Categorical(N_CLASSES), image_network("lenet5", IMAGE, N_CLASSES))
    method = methods.get(name).suited_to(task)
    hparams = Centred(method.image_space(task)).best().hparams
    fits = [Fit(np.arange(len(data.y)), hparams, seed) for seed in range(n_fits)]
    series = Series.of(ReplicaModel(method, task, torch.float32), data, fits, IMAGE[0])

    def seconds(n_updates: int) -> float:
        schedule = Schedule.exactly(method, len(data.y), BATCH_SIZE, n_updates)
        finish(data.x.device)
        started = time.perf_counter()
        for _ in train(series, schedule, TrainingRecord(n_updates, 0), None, cosine, lambda update: None):
            pass
        finish(data.x.device)
        return time.perf_counter() - started

    shorter, longer = updates
    with torch.no_grad():
        seconds(shorter)  # the first training sets up
        differences = [seconds(longer) - seconds(shorter) for _ in range(REPEATS)]
    return 1000 * median(differences) / (longer - shorter) / len(series.members)


@app.command()
def measure(
    names: Annotated[str, typer.Option("--methods", help="Comma-separated names of methods.")] = "map,mfvi,swag,vifa",
    device: Annotated[str, typer.Option(help="Torch's name of the device.")] = "cuda",
    updates: Annotated[int, typer.Option(help="Updates of the longer training.", min=20)] = 500,
    fits: Annotated[int, typer.Option(help="Fits that are trained one after the other.", min=1)] = 1,
) -> None:
    """Print the milliseconds of an update of LeNet-5, batch size 128, per network."""
    pixels = np.random.default_rng(0).integers(0, 256, (N_IMAGES, prod(IMAGE)), dtype=np.uint8)
    data = Data.of(pixels, np.arange(float(N_IMAGES)) % N_CLASSES, device)
    typer.echo(f"{'milliseconds per update':24}" + "".join(f"{way:>16}" for way in WAYS))
    for name in names.split(","):
        times = (milliseconds(name, data, train, fits, (updates // 10, updates)) for train in WAYS.values())
        typer.echo(f"{name:24}" + "".join(f"{each:16.3f}" for each in times))


if __name__ == "__main__":
    app()
