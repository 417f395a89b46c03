"""A data set as the fits of one split see it, without information from rows that the split does not train on."""

from dataclasses import replace

from lockstep_bench.datasets.records import Dataset, Source
from lockstep_bench.datasets.standardise import noise_precisions


def source_of_split(source: Source, dataset: Dataset, number: int) -> Source:
    """Return a data set's description for one split: its number of inputs and its search range of the noise precision.

    Args:
        source: description of the data set.
        dataset: arrays of the data set.
        number: number of the split.
    """
    split = dataset.splits[number]
    if split.inputs is not None:
        source = replace(source, n_features=len(split.inputs))
    if source.noise_precisions is None:
        source = replace(source, noise_precisions=noise_precisions(dataset.y[split.train]))
    return source


def dataset_of_split(dataset: Dataset, number: int) -> Dataset:
    """Return the data set with only the features that are inputs of split `number`, for all its splits."""
    inputs = dataset.splits[number].inputs
    if inputs is None:
        return dataset
    splits = tuple(replace(split, inputs=None) for split in dataset.splits)
    return replace(dataset, x=dataset.x[:, inputs], ood=dataset.ood[:, inputs], splits=splits)
