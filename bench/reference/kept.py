"""Kept draws of the posteriors of networks: 1,000 draws of the function at 20 fixed inputs, one Parquet file each.

A checkout has the draws of `datasets/references/draws`, whose checksums `agreement.csv` pins. The wheel leaves them
out. Draws that are not there, or are of another definition or other data, are sampled and stored in the user's cache
folder. A file has no inputs and no targets, only the checksum of the data.
"""

import csv
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock

from lockstep_bench.bench.reference import networks
from lockstep_bench.bench.reference.problem import Part, model_of
from lockstep_bench.bench.reference.sampled import folder
from lockstep_bench.datasets import Dataset, Source, Standardisation
from lockstep_bench.datasets.references import networks as definitions
from lockstep_bench.methods.maths.predictive import Normals
from lockstep_bench.methods.mcmc.diagnostics import effective_sample_size, r_hat

PROBES, DRAWS = 20, 1000
SEED = 0
COLUMNS = ("mean", "log_variance")  # of the standardised target; the second where the network predicts the noise
KEPT = definitions.TABLE.with_name("draws")
AGREEMENTS = definitions.TABLE.with_name("agreement.csv")


@dataclass(frozen=True, eq=False)
class KeptDraws:
    """Draws of a network's function at the first test inputs.

    Attributes:
        values: (S, n, O), outputs in units of the standardised target.
        facts: Sampler, R-hat and effective sample size of all its draws, and what defines the posterior.
    """

    values: np.ndarray
    facts: dict[str, Any]

    def predictive(self, part: Part, y_mean: float) -> Normals:
        """Return the reference posterior's predictive, in original units, given the mean of the training targets."""
        import torch

        predictive = part.predictive(torch.tensor(self.values), y_mean)
        assert isinstance(predictive, Normals)
        return predictive


def inputs_of(dataset: Dataset) -> np.ndarray:
    """Return the standardised inputs (n, P) at which draws are kept: those of the first test rows."""
    split = dataset.splits[0]
    scaling = Standardisation.of(dataset.x, split.train)
    standardised: np.ndarray = (dataset.x[split.test[:PROBES]] - scaling.mean) / scaling.scale
    return standardised


def definition_of(source: Source, dataset: Dataset) -> dict[str, Any]:
    """Return what defines a posterior: its model, and the checksums of its data and its split."""
    model = model_of(source)
    return {
        "name": source.name,
        "hidden": [*model.hidden],
        "activation": "relu",
        "prior_precision": model.prior_precision,
        "noise_precision": model.noise_precision,
        "data_sha256": dataset.data_sha256,
        "split_sha256": dataset.split_sha256[0],
    }


def reference_of(
    source: Source, dataset: Dataset, on_progress: networks.OnProgress = lambda share: None, kept: Path = KEPT
) -> KeptDraws:
    """Return the kept draws of a posterior: those of the checkout, else those of the cache, else newly sampled ones.

    Args:
        source: Entry of the data set in the registry.
        dataset: The data set.
        on_progress: Called with the fraction of the sampling that is done.
        kept: Folder of the checkout's draws.
    """
    definition = definition_of(source, dataset)
    path = kept / f"{source.name}.parquet"
    if is_valid(path) and _defines(path, definition):
        return read(path)
    code = hashlib.sha256(json.dumps([definition, networks.HMC, SEED]).encode()).hexdigest()[:16]
    path = folder() / f"{source.name}-{code}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):  # another worker may be sampling it
        if not path.exists():
            part = networks.part_of(source, dataset, dataset.splits[0].train)
            values = networks.drawn_by_hmc(part, inputs_of(dataset), SEED, on_progress=on_progress)
            write(path, values, definition)
    return read(path)


def is_valid(path: Path) -> bool:
    """Return whether a file of draws exists and has the checksum that `agreement.csv` pins."""
    pinned = agreements(path.parent.with_name(AGREEMENTS.name)).get(path.stem)
    return pinned is not None and path.is_file() and sha256_of(path) == pinned["sha256"]


def sha256_of(path: Path) -> str:
    """Return the SHA-256 (hex) of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _defines(path: Path, definition: dict[str, Any]) -> bool:
    facts = json.loads(pq.read_schema(path).metadata[b"facts"])
    return {name: facts[name] for name in definition} == definition


def write(path: Path, values: np.ndarray, definition: dict[str, Any]) -> None:
    """Write `DRAWS` of the outputs (chains, draws, n, O) of all chains, evenly thinned, with their quality."""
    chains, draws, n_inputs, n_outputs = values.shape
    flat = values.reshape(-1, n_inputs, n_outputs)
    kept = flat[np.arange(DRAWS) * len(flat) // DRAWS] if len(flat) > DRAWS else flat
    outputs = values.reshape(chains, draws, -1)
    facts = definition | {
        "sampler": networks.HMC,
        "seed": SEED,
        "chains": chains,
        "draws_per_chain": draws,
        "r_hat": float(r_hat(outputs).max()),
        "effective_samples": float(effective_sample_size(outputs).min()),
    }
    table = pa.table(
        {
            f"{COLUMNS[output]}_{point:02d}": kept[:, point, output].astype(np.float16)
            for output in range(n_outputs)
            for point in range(n_inputs)
        }
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    pq.write_table(table.replace_schema_metadata({"facts": json.dumps(facts)}), temporary, compression="zstd")
    os.replace(temporary, path)


def read(path: Path) -> KeptDraws:
    """Return the draws of a file that `write` wrote."""
    table = pq.read_table(path)
    n_outputs = len({name.rpartition("_")[0] for name in table.column_names})
    columns = np.stack([column.to_numpy() for column in table.columns]).astype(np.float64)
    values = np.moveaxis(columns.reshape(n_outputs, -1, len(table)), (0, 1, 2), (2, 1, 0))
    return KeptDraws(values, json.loads(table.schema.metadata[b"facts"]))


def agreements(path: Path = AGREEMENTS) -> dict[str, dict[str, str]]:
    """Return the rows of `agreement.csv` by name of the posterior; none if there is no such file."""
    if not path.is_file():
        return {}
    with path.open(newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def remade(source: Source, dataset: Dataset, kept: Path = KEPT) -> dict[str, str]:
    """Sample a posterior with both samplers, write its kept draws and its row of `agreement.csv`; return the row.

    Args:
        source: Entry of the data set in the registry.
        dataset: The data set.
        kept: Folder of the draws; `agreement.csv` lies beside it.
    """
    part, inputs = networks.part_of(source, dataset, dataset.splits[0].train), inputs_of(dataset)
    values = networks.drawn_by_hmc(part, inputs, SEED)
    found = networks.agreement(values, networks.drawn_by_nuts(part, inputs, SEED + 1))
    path = kept / f"{source.name}.parquet"
    write(path, values, definition_of(source, dataset))
    measured = {name: f"{value:.5g}" for name, value in found._asdict().items()}
    row = {
        "name": source.name,
        "weights": str(part.network.dim),
        "rows": str(len(part.y)),
        "noise": "constant" if part.noise_precision is not None else "predicted",
        **measured,
        "verdict": found.verdict,
        "sha256": sha256_of(path),
    }
    table = kept.with_name(AGREEMENTS.name)
    with FileLock(folder() / "agreement.lock"):
        rows = agreements(table) | {source.name: row}
        ordered = [rows[name] for name in definitions.definitions() if name in rows]
        with table.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(row), lineterminator="\n")
            writer.writeheader()
            writer.writerows(ordered)
    return row
