"""Data sets with fixed splits, checked byte by byte before use.

>>> from lockstep_bench import datasets
>>> yacht = datasets.load("yacht")  # after `python -m datasets fetch yacht`
>>> yacht.x.shape, len(yacht.splits)
((308, 6), 20)

Another package adds a data set by an entry point of the group `lockstep_bench.datasets` that names a `datasets.Source`.
"""

from lockstep_bench.datasets.errors import (
    BrokenDataset,
    InvalidFolder,
    InvalidTable,
    Unavailable,
    UnknownDataset,
    Unreachable,
)
from lockstep_bench.datasets.images.shapes import as_images
from lockstep_bench.datasets.loading import load, load_weights
from lockstep_bench.datasets.of_split import dataset_of_split, source_of_split
from lockstep_bench.datasets.out_of_distribution import matched_labels, ood_images, partner, partner_images
from lockstep_bench.datasets.own.table import Table, describe
from lockstep_bench.datasets.records import Dataset, File, Source, Split
from lockstep_bench.datasets.registry import add, added, entry, names, problems, provider, published
from lockstep_bench.datasets.splits import block_folds, fixed_splits, folds, held_out_splits
from lockstep_bench.datasets.standardise import Standardisation, noise_precisions
from lockstep_bench.datasets.storage.data_folder import data_dir
from lockstep_bench.datasets.storage.download import fetch
from lockstep_bench.datasets.storage.store import Availability, availability
from lockstep_bench.full_name import require_full_name

require_full_name(__name__)

__all__ = [
    "Availability",
    "BrokenDataset",
    "Dataset",
    "File",
    "InvalidFolder",
    "InvalidTable",
    "Source",
    "Split",
    "Standardisation",
    "Table",
    "Unavailable",
    "UnknownDataset",
    "Unreachable",
    "add",
    "added",
    "as_images",
    "availability",
    "block_folds",
    "data_dir",
    "dataset_of_split",
    "describe",
    "entry",
    "fetch",
    "fixed_splits",
    "folds",
    "held_out_splits",
    "load",
    "load_weights",
    "matched_labels",
    "names",
    "noise_precisions",
    "ood_images",
    "partner",
    "partner_images",
    "problems",
    "provider",
    "published",
    "source_of_split",
]
