"""Reference posteriors sampled by NUTS: sampled once, stored as Parquet, and refused unless the chains converged."""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock

from lockstep_bench.bench.reference.distances import sampling_noise
from lockstep_bench.bench.reference.posterior import ReferencePosterior
from lockstep_bench.bench.reference.problem import Part
from lockstep_bench.datasets.records import digest

VARIABLE = "BENCH_REFERENCE_DIR"
MAX_R_HAT = 1.01  # Vehtari et al. 2021
VERSION = 1  # of the computation; a new number makes all stored files out of date
MAX_COMPARED = 2000  # draws that are kept, thinned from all


class UnconvergedReference(RuntimeError):
    """The chains of the sampler have not converged, so their draws cannot serve as a reference posterior."""


class Settings(NamedTuple):
    """Number and length of the sampler's chains."""

    chains: int
    warmup: int
    draws: int


LINEAR = Settings(4, 1000, 2500)
NETWORK = Settings(4, 1000, 2000)


def folder() -> Path:
    """Return the folder of stored reference posteriors: BENCH_REFERENCE_DIR, else one in the user's cache folder."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("lockstep-bench", appauthor=False) / "references"


def sampled(
    part: Part, name: str, seed: int, probes: np.ndarray, on_progress: Callable[[float], None]
) -> ReferencePosterior:
    """Return the posterior of a model on its training rows, sampled by NUTS or read from an earlier run's file.

    Convergence is judged by the weights of a linear model. For a network it is judged by the outputs at `probes`,
    because permuting units changes the weights but not the function.

    Args:
        part: Training rows and model.
        name: Name of the file in which the draws are stored.
        seed: Seed of the chains.
        probes: (n, P) standardised inputs at which a network's outputs are compared between chains.
        on_progress: Called with the fraction of the sampling that is done.

    Raises:
        UnconvergedReference: R-hat is 1.01 or more.
    """
    settings = NETWORK if part.network.hidden else LINEAR
    path = folder() / f"{name}-{_fingerprint(part, settings, seed, probes)}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):  # another worker may be sampling it
        if not path.exists():
            _write(path, *_run(part, settings, seed, probes, on_progress))
    weights, facts = _read(path)
    if not facts["r_hat"] < MAX_R_HAT:
        raise UnconvergedReference(
            f"the reference posterior of {name} cannot be used: R-hat is {facts['r_hat']:.3f}, and must be below "
            f"{MAX_R_HAT} ({settings.chains} chains of {settings.draws} draws after {settings.warmup} of warm-up)"
        )
    step = max(1, len(weights) // MAX_COMPARED)
    covariance = np.atleast_2d(np.cov(weights.T, bias=True))
    if not part.network.hidden:
        facts |= {"rel_cov_noise": sampling_noise(covariance, min(facts["effective_samples"], len(weights)))}
    return ReferencePosterior(weights[::step], weights.mean(axis=0), covariance, "nuts", facts)


def _run(
    part: Part, settings: Settings, seed: int, probes: np.ndarray, on_progress: Callable[[float], None]
) -> tuple[np.ndarray, dict[str, float]]:
    """Return all draws (S, D), chain after chain, and their quality."""
    from lockstep_bench.methods.mcmc import nuts

    chains = nuts.sample(
        part.network,
        part.likelihood,
        part.x,
        part.y,
        part.prior_precision,
        part.noise_precision,
        part.y_scale,
        **settings._asdict(),
        seed=seed,
        progress=on_progress,
    )
    compared = _outputs(part, chains.weights, probes) if part.network.hidden else chains.weights
    facts = {
        "r_hat": float(np.max(nuts.r_hat(compared))),
        "effective_samples": float(np.min(nuts.effective_sample_size(compared))),
        "divergences": chains.divergences,
        "saturated": chains.saturated,
        "seconds": chains.seconds,
        **settings._asdict(),
    }
    return chains.weights.reshape(-1, part.network.dim), facts


def _outputs(part: Part, weights: np.ndarray, probes: np.ndarray) -> np.ndarray:
    """Return the network's outputs (chains, draws, n O) at probes (n, P)."""
    import torch
    from torch.func import vmap

    x = torch.tensor(probes)
    flat = torch.tensor(weights.reshape(-1, part.network.dim))
    outputs = vmap(part.network, in_dims=(0, None), chunk_size=500)(flat, x)
    return outputs.flatten(1).numpy().reshape(*weights.shape[:2], -1)


def _fingerprint(part: Part, settings: Settings, seed: int, probes: np.ndarray) -> str:
    inputs = [VERSION, digest(part.x, part.y, probes), repr(part.network), part.likelihood.kind, part.prior_precision]
    inputs += [part.noise_precision, part.y_scale, *settings, seed]
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:16]


def _write(path: Path, weights: np.ndarray, facts: dict[str, float]) -> None:
    values = pa.FixedSizeListArray.from_arrays(pa.array(weights.ravel()), weights.shape[1])
    table = pa.table({"weights": values}).replace_schema_metadata({"facts": json.dumps(facts)})
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    pq.write_table(table, temporary, compression="zstd")
    os.replace(temporary, path)


def _read(path: Path) -> tuple[np.ndarray, dict[str, float]]:
    table = pq.read_table(path)
    column = table["weights"].combine_chunks()
    return column.flatten().to_numpy().reshape(len(table), -1), json.loads(table.schema.metadata[b"facts"])
