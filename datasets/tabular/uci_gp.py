"""The 36 regression data sets of the Gaussian-process literature, with their ten published 90/10 splits.

The files are those of github.com/treforevans/uci_datasets at one commit; `uci_gp.tsv` lists their sizes and checksums.
For each data set, `data.csv.gz` has the inputs and, in its last column, the target. Column k of `test_mask.csv.gz` is 1
for the test rows of split k. Each row is a test row in one split. The publisher centred all columns by the mean of all
rows, test rows included, and rounded them to five digits.

The checksums of 3droad, buzz, houseelectric, slice and of song's mask come from Git LFS pointers of an earlier commit
(d5061ad). For gas, keggundirected, kin40k, pol, protein and bike's mask, the pointers of that commit agree with the
present files. Song's table was cut into two files later, for which no checksums are published (`datasets.learned`).

The data set `gp-NAME-grouped` has the rows of `gp-NAME` in splits without copies of training rows among the test rows
(`groups.grouped_splits`). It exists if on some published split more than `audited.REPAIRED_FROM` percent of the test
rows are such copies. Only one of the two is ranked: the published one, unless `audited.flag` excludes it.
"""

import gzip
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lockstep_bench.datasets import learned
from lockstep_bench.datasets.records import Arrays, File, Source, Split
from lockstep_bench.datasets.tabular import audited
from lockstep_bench.datasets.tabular.groups import group_numbers, grouped_splits

COMMIT = "f0737523712fe66a1640e4b980b927e8490b58eb"
BASE_URL = f"https://raw.githubusercontent.com/treforevans/uci_datasets/{COMMIT}/uci_datasets/"
FOLDER = "uci_gp"
LICENCE = "none stated for the set itself; the repository of the files is MIT"
N_SPLITS = 10
DATA, REST, MASK = "data.csv.gz", "data1.csv.gz", "test_mask.csv.gz"
SHIFTED = "rows, inputs and target, but for a shift of each column"
ID = "Input 0 is a running number of the row or of its subject, not a measurement."


class Published(NamedTuple):
    """A data set of the repository.

    Attributes:
        name: name of its folder in the repository.
        title: display name.
        n_rows: N, number of rows.
        n_features: P, number of features.
        origin: who collected the data.
        notes: facts that a reader of the results must know.
        same_as: name of the data set of the suite `uci` that has the same rows; "" if there is none.
    """

    name: str
    title: str
    n_rows: int
    n_features: int
    origin: str
    notes: tuple[str, ...] = ()
    same_as: str = ""


SETS = (
    Published(
        "challenger",
        "Challenger O-rings",
        23,
        4,
        "Draper 1995, Assessment and propagation of model uncertainty",
        ("The target is the number of distressed O-rings: 0, 1 or 2.",),
    ),
    Published(
        "fertility",
        "Fertility",
        100,
        9,
        "Gil et al. 2012, Predicting seminal quality with artificial intelligence methods",
    ),
    Published(
        "concreteslump",
        "Concrete slump",
        103,
        7,
        "Yeh 2007, Modeling slump flow of concrete using second-order regressions and artificial neural networks",
        (
            ID,
            "The target is an ingredient, the fine aggregate, and not the slump: its range is that of column 7 of the "
            "original. The ingredients of a volume nearly determine each other.",
        ),
    ),
    Published("autos", "Automobile prices", 159, 25, "Schlimmer 1987, 1985 Auto imports database (UCI)"),
    Published("servo", "Servo", 167, 4, "Quinlan 1993, Combining instance-based and model-based learning (Ulrich)"),
    Published(
        "breastcancer",
        "Breast cancer Wisconsin (prognostic)",
        194,
        33,
        "Wolberg, Street and Mangasarian 1995, Breast Cancer Wisconsin (Prognostic) (UCI)",
        (ID, "Input 1 says whether the cancer recurred; the target is the time until then, or until the last visit."),
    ),
    Published(
        "machine",
        "Computer hardware",
        209,
        7,
        "Ein-Dor and Feldmesser 1987, Attributes of the performance of central processing units",
    ),
    Published(
        "yacht",
        "Yacht hydrodynamics (logarithm)",
        308,
        6,
        "Gerritsma, Onnink and Versluis 1981, Geometry, resistance and stability of the Delft systematic yacht hull "
        "series",
        ("Rows and inputs are those of yacht; the target is the logarithm of that of yacht, so no scores compare.",),
        same_as="yacht",
    ),
    Published("autompg", "Auto MPG", 392, 7, "Quinlan 1993, Combining instance-based and model-based learning"),
    Published(
        "housing",
        "Boston housing",
        506,
        13,
        "Harrison and Rubinfeld 1978, Hedonic housing prices and the demand for clean air",
        (f"The same as boston: {SHIFTED}. What is said of race there holds here.",),
        same_as="boston",
    ),
    Published(
        "forest",
        "Forest fires",
        517,
        12,
        "Cortez and Morais 2007, A data mining approach to predict forest fires using meteorological data",
        ("The target is log(1 + burnt area): 48 % of the rows have no burnt area.",),
    ),
    Published(
        "stock",
        "Istanbul stock exchange",
        536,
        11,
        "Akbilgic, Bozdogan and Balaban 2014, A novel hybrid RBF neural networks model as a forecaster",
        ("Inputs 3 to 10 are returns of indices on the same day, so nothing is forecast.",),
    ),
    Published(
        "pendulum",
        "Pendulum",
        630,
        9,
        "Lázaro-Gredilla et al. 2010, Sparse spectrum Gaussian process regression",
    ),
    Published(
        "energy",
        "Energy efficiency (heating load)",
        768,
        8,
        "Tsanas and Xifara 2012, Accurate quantitative estimation of energy performance of residential buildings",
        (f"The same as energy: {SHIFTED}.",),
        same_as="energy",
    ),
    Published(
        "concrete",
        "Concrete compressive strength",
        1030,
        8,
        "Yeh 1998, Modeling of strength of high-performance concrete using artificial neural networks",
        (f"The same as concrete: {SHIFTED}.",),
        same_as="concrete",
    ),
    Published("solar", "Solar flares", 1066, 10, "Bradshaw 1989, Solar flare (UCI)"),
    Published(
        "airfoil", "Airfoil self-noise", 1503, 5, "Brooks, Pope and Marcolini 1989, Airfoil self-noise and prediction"
    ),
    Published(
        "wine",
        "Wine (red), alcohol",
        1599,
        11,
        "Cortez et al. 2009, Modeling wine preferences by data mining from physicochemical properties",
        (
            "The rows are those of wine, but the target is the alcohol, input 10 there, and the grade is an input: no "
            "scores compare.",
        ),
        same_as="wine",
    ),
    Published(
        "gas",
        "Gas sensor array drift",
        2565,
        128,
        "Vergara et al. 2012, Chemical gas sensor drift compensation using classifier ensembles",
    ),
    Published(
        "skillcraft",
        "SkillCraft",
        3338,
        19,
        "Thompson et al. 2013, Video game telemetry as a critical tool in the study of complex skill learning",
        (ID,),
    ),
    Published(
        "sml",
        "SML2010 indoor temperature",
        4137,
        26,
        "Zamora-Martínez et al. 2014, On-line learning of indoor temperature forecasting models",
        ("Rows are a time series every 15 minutes, and random splits let a method interpolate between neighbours.",),
    ),
    Published(
        "parkinsons",
        "Parkinson's telemonitoring",
        5875,
        20,
        "Tsanas et al. 2010, Accurate telemonitoring of Parkinson's disease progression by noninvasive speech tests",
        (f"{ID} The same 42 people are on both sides of every split.",),
    ),
    Published("pumadyn32nm", "Pumadyn-32nm (robot arm)", 8192, 32, "Ghahramani 1996, the pumadyn family of DELVE"),
    Published("pol", "Pole telecommunications", 15000, 26, "Weiss and Indurkhya 1995, Rule-based machine learning"),
    Published("elevators", "Elevators", 16599, 18, "Camacho, control of an F16 aircraft (collected by Torgo)"),
    Published(
        "bike",
        "Bike sharing (hours)",
        17379,
        17,
        "Fanaee-T and Gama 2014, Event labeling combining ensemble detectors and background knowledge",
        (
            "The target is the logarithm of the sum of inputs 15 and 16, casual and registered riders (each shifted): "
            "it can be computed without error, and a score says how well a network learns log(a + b).",
        ),
    ),
    Published(
        "kin40k", "Kin40k (8-link robot arm)", 40000, 8, "Schwaighofer and Tresp 2003, after the kin family of DELVE"
    ),
    Published(
        "protein",
        "Protein tertiary structure (logarithm)",
        45730,
        9,
        "Rana 2013, Physicochemical properties of protein tertiary structure (CASP 5-9)",
        ("Rows and inputs are those of protein; the target is log(1 + that of protein), so no scores compare.",),
        same_as="protein",
    ),
    Published(
        "tamielectric",
        "Tamil Nadu electricity",
        45781,
        3,
        "Shah 2013, Tamilnadu Electricity Board hourly readings (UCI)",
        (
            "The target is uniform from -0.5 to 0.5, and its correlation with each input is below 0.005: there may be "
            "nothing to predict.",
        ),
    ),
    Published("keggdirected", "KEGG relation network, directed", 48827, 20, "Naeem and Asghar 2011 (UCI)"),
    Published("slice", "CT slice localisation", 53500, 385, "Graf et al. 2011, 2D image registration in CT images"),
    Published("keggundirected", "KEGG reaction network, undirected", 63608, 27, "Naeem and Asghar 2011 (UCI)"),
    Published(
        "3droad", "3D road network", 434874, 3, "Kaul, Yang and Jensen 2013, Building accurate 3D spatial networks"
    ),
    Published("song", "Year of a song", 515345, 90, "Bertin-Mahieux et al. 2011, The million song dataset"),
    Published(
        "buzz", "Buzz in social media", 583250, 77, "Kawala et al. 2013, Prédictions d'activité dans les réseaux"
    ),
    Published("houseelectric", "Household electricity", 2049280, 11, "Hébrail and Bérard 2012 (UCI)"),
)


def read(name: str, grouped: bool, contents: Mapping[str, bytes]) -> Arrays:
    """Return x (N, P), y (N,) and the splits of a data set.

    Args:
        name: folder of the data set in the repository.
        grouped: whether to use splits that keep equal rows together (`grouped_splits`).
        contents: verified contents of the files.
    """
    tables = [_table(content) for path, content in sorted(contents.items()) if not path.endswith(MASK)]
    values, mask = np.concatenate(tables), _table(contents[f"{name}/{MASK}"]) == 1
    splits = tuple(Split(np.flatnonzero(~test), np.flatnonzero(test)) for test in mask.T)
    return values[:, :-1], values[:, -1], grouped_splits(group_numbers(values), splits) if grouped else splits


@cache
def sources() -> tuple[Source, ...]:
    """Return the descriptions of the data sets in the order of `SETS`, each followed by its grouped version, if any."""
    return tuple(source for published in SETS for source in _with_repaired(_source(published)))


def _source(published: Published) -> Source:
    name = f"gp-{published.name}"
    facts = audited.kept().get(name)
    files = _files()[published.name]
    unpinned = published.name == "song"
    return Source(
        name=name,
        title=f"{published.title}, GP splits",
        n_rows=published.n_rows,
        n_features=published.n_features,
        n_splits=N_SPLITS,
        origin=f"{published.origin}; files and splits: treforevans/uci_datasets",
        licence=LICENCE,
        read=partial(read, published.name, False),
        suites=("uci-gp",),
        noise_precisions=None,
        same_as=(published.same_as,) if published.same_as else (),
        notes=(*published.notes, *([] if facts else ["The set has not been audited: its files are not here."])),
        flagged=dict.fromkeys(range(N_SPLITS), audited.flag(facts)) if facts and audited.flag(facts) else {},
        files=files,
        folder=FOLDER,
        base_url=BASE_URL,
        listing=listing if unpinned else None,
    )


def listing(folder: Path) -> tuple[File, ...]:
    """Return the files of the data set song; two of them have the checksums of their first download."""
    tables = (File(f"song/{name}", None) for name in (DATA, REST))
    return (*_files()["song"], *(learned.pinned(file, FOLDER) for file in tables))


def _with_repaired(source: Source) -> tuple[Source, ...]:
    """Return a data set and, if too many test rows are copies of training rows, its grouped version."""
    facts = audited.kept().get(source.name)
    if facts is None or facts.most_copies <= audited.REPAIRED_FROM:
        return (source,)
    ranked = {} if source.flagged else dict.fromkeys(range(N_SPLITS), f"the rows of {source.name}, which is ranked")
    repaired = replace(
        source,
        name=f"{source.name}-grouped",
        title=f"{source.title.removesuffix(', GP splits')}, equal rows on one side",
        read=partial(read, source.name.removeprefix("gp-"), True),
        rows_of=source.name,
        flagged=ranked,
        notes=(
            f"Rows, inputs and targets are those of {source.name}, whose notes hold here too.",
            "Equal rows are on one side of each split; the splits are this project's own.",
        ),
    )
    return source, repaired


def _table(content: bytes) -> np.ndarray:
    """Return the numbers of a compressed CSV without a heading, float64 (rows, columns)."""
    import pyarrow as pa
    from pyarrow import csv

    options = csv.ReadOptions(autogenerate_column_names=True)
    table = csv.read_csv(pa.BufferReader(gzip.decompress(content)), read_options=options)
    return np.column_stack([column.to_numpy() for column in table.columns]).astype(np.float64, copy=False)


@cache
def _files() -> dict[str, tuple[File, ...]]:
    """Return the pinned files, by the folder of their set."""
    lines = Path(__file__).with_name("uci_gp.tsv").read_text(encoding="utf-8").splitlines()[1:]
    files = [File(path, int(size), sha256) for path, size, sha256 in (line.split("\t") for line in lines)]
    return {
        name: tuple(file for file in files if file.path.startswith(f"{name}/")) for name in (each.name for each in SETS)
    }
