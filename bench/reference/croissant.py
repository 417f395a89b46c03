"""An archive of the kept draws for publication: Parquet files, the tables that define them, and Croissant metadata."""

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from lockstep_bench.bench.reference.kept import AGREEMENTS, KEPT, agreements, sha256_of
from lockstep_bench.datasets.references.networks import TABLE
from lockstep_bench.shared.croissant import CONFORMS, VOCABULARY

DESCRIPTION = (
    "Draws of the functions of Bayesian neural networks at 20 fixed inputs each: outputs in units of the standardised "
    "target, from 64 chains of Hamiltonian Monte Carlo. networks.toml defines each posterior by its data, network, "
    "prior and noise. agreement.csv has R-hat, effective sample sizes and the agreement with NUTS; posteriors whose "
    "verdict is not 'agree' are unresolved. No inputs and no targets are included: `python -m datasets references` of "
    "Lockstep Bench regenerates the draws from the data."
)


def write(folder: Path) -> list[Path]:
    """Write the archive to a new folder, and return its files.

    Raises:
        FileExistsError: The folder exists.
    """
    folder.mkdir(parents=True)
    draws = [KEPT / f"{name}.parquet" for name in agreements()]
    files = [Path(shutil.copy2(path, folder)) for path in (TABLE, AGREEMENTS, *draws)]
    described = folder / "croissant.json"
    described.write_text(json.dumps(metadata(files), indent=2) + "\n")
    return [*files, described]


def metadata(files: list[Path]) -> dict[str, Any]:
    """Return the Croissant description of an archive's files."""
    from importlib.metadata import version

    return {
        "@context": VOCABULARY,
        "@type": "sc:Dataset",
        "name": "network-posteriors",
        "description": DESCRIPTION,
        "conformsTo": CONFORMS,
        "license": "https://spdx.org/licenses/MIT.html",
        "version": version("lockstep-bench"),
        "distribution": [_file(path) for path in files],
        "recordSet": [_records(path) for path in files if path.suffix == ".parquet"],
    }


def _file(path: Path) -> dict[str, str]:
    kinds = {".parquet": "application/x-parquet", ".csv": "text/csv", ".toml": "application/toml"}
    return {
        "@type": "cr:FileObject",
        "@id": path.name,
        "name": path.name,
        "contentUrl": path.name,
        "encodingFormat": kinds[path.suffix],
        "sha256": sha256_of(path),
    }


def _records(path: Path) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": path.stem,
        "name": path.stem,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{path.stem}/{column}",
                "name": f"{path.stem}/{column}",
                "dataType": "sc:Float",
                "source": {"fileObject": {"@id": path.name}, "extract": {"column": column}},
            }
            for column in pq.read_schema(path).names
        ],
    }
