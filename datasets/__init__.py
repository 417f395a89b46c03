"""Data sets with fixed splits, checked byte by byte before use.

>>> import datasets
>>> yacht = datasets.load("yacht")  # after `python -m datasets fetch yacht`
>>> yacht.x.shape, len(yacht.splits)
((308, 6), 20)

A package adds a set by an entry point of the group `lockstep_bench.datasets` that names a `datasets.Source`.
"""

from datasets.errors import BrokenDataset, InvalidFolder, InvalidTable, Unavailable, UnknownDataset, Unreachable
from datasets.images.shapes import as_images
from datasets.loading import load, load_weights
from datasets.of_split import dataset_of_split, source_of_split
from datasets.out_of_distribution import matched_labels, ood_images, partner, partner_images
from datasets.own.table import Table, describe
from datasets.records import Dataset, File, Source, Split
from datasets.registry import add, added, entry, names, problems, provider, published
from datasets.splits import block_folds, fixed_splits, folds, held_out_splits
from datasets.standardise import Standardisation, noise_precisions
from datasets.storage.download import fetch
from datasets.storage.places import data_dir
from datasets.storage.store import Availability, availability

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
