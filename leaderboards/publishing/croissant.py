"""Croissant metadata (MLCommons, version 1.0, with fields of its Responsible AI extension) of published rows."""

import hashlib
import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa

from lockstep_bench.shared.columns import CELLS, METRICS
from lockstep_bench.shared.croissant import CONFORMS, VOCABULARY
from lockstep_bench.shared.schema import COSTS

FILE = "croissant.json"
FILES = {
    "@type": "cr:FileSet",
    "@id": "cell-files",
    "name": "cell-files",
    "encodingFormat": "application/x-parquet",
    "includes": "results/cells/*.parquet",
}
CELL_ROWS = {
    "@type": "cr:RecordSet",
    "@id": "cells",
    "name": "cells",
    "description": "One row per cell: a method on one split of a data set, under one protocol and seed.",
}
RESPONSIBLE = {
    "rai:dataCollection": "Each row is the outcome of a run: a method tuned and trained on one split of a data set by "
    "the protocol in its column `protocol`.",
    "rai:dataCollectionType": "Experiments",
    "rai:dataUseCases": "Comparison of approximate-inference methods for neural networks under equal protocols.",
    "rai:dataLimitations": "Rows of different revisions, machines and presets are in the same files; seconds depend on "
    "the machine and its load, and only rows whose column `exclusive` is true had it to themselves.",
    "rai:dataBiases": "Mostly small tables of numbers and small networks; methods were tuned over the ranges in the "
    "column `search_space`.",
    "rai:personalSensitiveInformation": "None. Rows name the machine that ran them (`host`).",
    "rai:dataReleaseMaintenancePlan": "`python -m leaderboards recheck` repeats rows drawn at random.",
}


def write_croissant(folder: Path, title: str, date: str, names: Sequence[str]) -> Path:
    """Write `croissant.json` into a folder with published rows, and return its path.

    Args:
        folder: the published folder.
        title: number of cells, methods and data sets, in words.
        date: when the last row was finished, in ISO 8601.
        names: files of rows, relative to `folder`.
    """
    files = [name for name in names if name.startswith("results/cells/")]
    described: dict[str, Any] = {
        "@context": VOCABULARY,
        "@type": "sc:Dataset",
        "conformsTo": [CONFORMS, "http://mlcommons.org/croissant/RAI/1.0"],
        "name": "lockstep-bench-results",
        "description": f"Results of approximate-inference methods for neural networks: {title}.",
        "license": "https://opensource.org/license/mit",
        "version": version("lockstep-bench"),
        "datePublished": date,
        "citeAs": f"The lockstep authors: lockstep-bench {version('lockstep-bench')}",
        **RESPONSIBLE,
        "distribution": [*(_file(folder, name) for name in files), FILES],
        "recordSet": [CELL_ROWS | {"field": [_field(field) for field in CELLS]}],
    }
    path = folder / FILE
    path.write_text(json.dumps(described) + "\n", encoding="utf-8", newline="\n")
    return path


def _file(folder: Path, name: str) -> dict[str, str]:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "encodingFormat": "application/x-parquet",
        "sha256": hashlib.sha256((folder / name).read_bytes()).hexdigest(),
    }


def _field(field: pa.Field) -> dict[str, Any]:
    described = {**METRICS, **COSTS}.get(field.name)
    return {
        "@type": "cr:Field",
        "@id": f"cells/{field.name}",
        "name": field.name,
        **({"description": described} if described else {}),
        "dataType": _type(field.type),
        "source": {"fileSet": {"@id": FILES["@id"]}, "extract": {"column": field.name}},
    }


def _type(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "sc:Boolean"
    if pa.types.is_integer(kind):
        return "sc:Integer"
    if pa.types.is_floating(kind):
        return "sc:Float"
    return "sc:DateTime" if pa.types.is_timestamp(kind) else "sc:Text"
