"""Files of posteriors: NumPy's .npz with arrays and one JSON string, without pickle."""

import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lockstep_bench.bench.arrays.data import described
from lockstep_bench.bench.arrays.posterior import NO_ROWS, Posterior
from lockstep_bench.bench.arrays.trees import packed, unpacked
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import Data, Fit, ReplicaModel
from lockstep_bench.bench.engine.stack import Stack
from lockstep_bench.bench.engine.stacked_fits import StackedFits
from lockstep_bench.bench.engine.training_record import TrainingRecord
from lockstep_bench.bench.experiment.tasks import method_for, task_from
from lockstep_bench.shared.protocol import Protocol

FORMAT = 2


def save(posterior: Posterior, path: str | PathLike[str], extra: Mapping[str, Any] | None = None) -> None:
    """Write a posterior to an .npz file.

    Args:
        posterior: The posterior.
        path: The file; it is replaced if it exists.
        extra: Further data, possible in JSON, to store in the file; `load` returns them with the posterior.

    Raises:
        TypeError: The posterior contains objects other than tensors, numbers and strings.
    """
    fits, source = posterior.fits, posterior.source
    tensors: list[np.ndarray] = []
    description = {
        "format": FORMAT,
        "suite": posterior.suite,
        "method": fits.method.name,
        "protocol": json.loads(posterior.protocol.to_json()),
        "source": [source.name, source.n_rows, source.n_features, source.n_classes, source.noise_precisions],
        "hparams": dict(posterior.hparams),
        "seed": fits.fits[0].seed,
        "schedule": asdict(fits.schedule),
        "execution": fits.execution,
        "device": str(fits.stack.data.x.device),
        "parallel": fits.stack.parallel,
        "replicas": packed(fits.stack.replicas, tensors),
        "posterior": packed(fits.posterior, tensors),
        "seconds": posterior.seconds,
        "offset": posterior.offset,
        "diagnostics": dict(posterior.diagnostics),
        "extra": dict(extra or {}),
    }
    arrays: dict[str, Any] = {f"tensor_{number}": tensor for number, tensor in enumerate(tensors)}
    with Path(path).open("wb") as file:
        np.savez_compressed(file, description=np.array(json.dumps(description, default=_plain)), **arrays)


def _plain(value: Any) -> Any:
    """Return a NumPy number or array as Python numbers, which JSON can store."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} cannot be saved without pickle; give a number or a string in its place")


def load(path: str | PathLike[str], device: str | None = None) -> tuple[Posterior, dict[str, Any]]:
    """Return the posterior in a file, and the `extra` data that were saved with it. No code in the file is executed.

    The method is looked up by name among the methods of this package and of other installed packages.

    Args:
        path: The file.
        device: Torch's name of the device to predict on; by default the device at the time of `save`.

    Raises:
        ValueError: The file holds no posterior of this version, or its method is not installed.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            description = json.loads(str(file["description"]))
            tensors = [file[f"tensor_{number}"] for number in range(len(file.files) - 1)]
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise ValueError(f"{path} holds no posterior that `save` wrote: {error}") from None
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise ValueError(f"{path} has another format than this version reads, {FORMAT}; fit and save again")
    try:
        return _restored(description, tensors, torch.device(device or description["device"])), description["extra"]
    except Exception as error:  # a damaged file may lead anywhere
        raise ValueError(f"{path} cannot be restored: {type(error).__name__}: {error}") from error


def _restored(description: Mapping[str, Any], tensors: list[np.ndarray], device: torch.device) -> Posterior:
    name, n_rows, n_features, n_classes, (low, high) = description["source"]
    source = described(name, n_rows, n_features, n_classes, (low, high))
    protocol = Protocol.from_json(json.dumps(description["protocol"]))
    suite = description["suite"]
    task = task_from(source, suite, protocol)
    method = method_for(description["method"], task)
    fit = Fit(NO_ROWS, description["hparams"], description["seed"])
    replicas = unpacked(description["replicas"], tensors, device)
    x = torch.empty(0, n_features, dtype=torch.float64, device=device)
    stack = Stack(
        ReplicaModel(method, task, replicas.n_train.dtype),
        Data(x, x.new_empty(0)),
        tuple((fit, member) for member in range(method.members)),
        replicas,
        description["parallel"],
    )
    schedule = Schedule(**description["schedule"])
    record = TrainingRecord(schedule.plan.n_updates, 0)
    posterior = unpacked(description["posterior"], tensors, device)
    fits = StackedFits((fit,), schedule, stack, posterior, record, description["execution"])
    seconds, diagnostics, offset = (description[name] for name in ("seconds", "diagnostics", "offset"))
    return Posterior(fits, source, suite, protocol, seconds, diagnostics, offset)
