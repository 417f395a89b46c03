"""The four binary classification data sets of the SLANG and VIFA papers, in splits of half training, half test rows.

Three are the .mat files of github.com/aaronpmishkin/SLANG (Mishkin et al. 2018), which took them from the LIBSVM
collection; the fourth is made from the USPS digits. `uci_classification.tsv` lists the files' sizes and checksums.

The papers' own splits come from MATLAB's random generator and cannot be reproduced. Here `fixed_splits` draws the
splits, with half of the rows in the test part.
"""

import io
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path

import numpy as np

from lockstep_bench.datasets.records import File, Reader, Source, Split
from lockstep_bench.datasets.splits import fixed_splits

N_SPLITS = 20
SEED = 2018  # the year of the SLANG paper; any fixed number would do
TEST_FRACTION = 0.5

RAW = "https://raw.githubusercontent.com"
SLANG_URL = f"{RAW}/aaronpmishkin/SLANG/2563276dedf4d18c77f3195e8645d3133be8d14c/code/matlab/datasets/"
USPS_URL = f"{RAW}/niuers/Learning-From-Data-A-Short-Course/879a698b960e5867f7c2b11f8938fa89c3d21839/data/"
LICENCE = "none stated, neither for the set nor by the repository of the file"
OWN_SPLITS = "Its 20 half/half splits are this project's own, so no published table of test scores compares with them."


def read_mat(
    path: str, n_features: int, positive: int, contents: Mapping[str, bytes]
) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    """Return x (N, P), y (N,) and the splits, from the sparse matrix X and the labels y in a .mat file.

    Args:
        path: key of the file in `contents`.
        n_features: P; the file may store fewer columns, because a sparse format drops trailing columns of zeros.
        positive: label that becomes class 1; all other labels become class 0.
        contents: verified contents of the files.
    """
    from scipy.io import loadmat

    matrices = loadmat(io.BytesIO(contents[path]))  # type: ignore[arg-type]  # open files are allowed
    stored = matrices["X"].toarray()
    x = np.pad(stored, ((0, 0), (0, n_features - stored.shape[1])))
    return x, matrices["y"].ravel() == positive, _splits(len(x))


def read_usps3v5(contents: Mapping[str, bytes]) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    """Return x (N, 256), y (N,) and the splits of the USPS digits 3 (class 0) and 5 (class 1).

    Rows of the published training part come first.
    """
    import h5py

    with h5py.File(io.BytesIO(contents["usps.h5"])) as parts:
        x, digits = (np.concatenate([parts[part][key][:] for part in ("train", "test")]) for key in ("data", "target"))
    chosen = np.isin(digits, (3, 5))
    return x[chosen], digits[chosen] == 5, _splits(int(chosen.sum()))


@cache
def sources() -> tuple[Source, ...]:
    """Return the descriptions of the four data sets, in the order of the SLANG paper's table."""
    files = _files()

    def source(
        name: str,
        title: str,
        shape: tuple[int, int],
        path: str,
        read: Reader,
        origin: str,
        *notes: str,
        base_url: str = SLANG_URL,
    ) -> Source:
        return Source(
            name=name,
            title=title,
            n_rows=shape[0],
            n_features=shape[1],
            n_splits=N_SPLITS,
            origin=origin,
            licence=LICENCE,
            read=read,
            task="binary",
            n_classes=2,
            suites=("uci",),
            notes=(*notes, OWN_SPLITS),
            files=(files[path],),
            folder="uci_classification",
            base_url=base_url,
        )

    def from_mat(
        name: str, title: str, shape: tuple[int, int], path: str, positive: int, origin: str, *notes: str
    ) -> Source:
        return source(name, title, shape, path, partial(read_mat, path, shape[1], positive), origin, *notes)

    return (
        from_mat(
            "australian",
            "Australian credit approval",
            (690, 14),
            "australian_scale.mat",
            1,
            "Quinlan 1987, Simplifying decision trees; the version of the Statlog project, each feature scaled to "
            "[-1, 1] by LIBSVM",
            "8 of the 14 features are categories coded as numbers, in no meaningful order.",
            "Missing values were replaced by the Statlog project, before any split.",
        ),
        from_mat(
            "breast-cancer",
            "Breast cancer Wisconsin (original)",
            (683, 10),
            "breast_cancer_scale.mat",
            4,
            "Wolberg and Mangasarian 1990, Multisurface method of pattern separation for medical diagnosis applied to "
            "breast cytology; each feature scaled to [-1, 1] by LIBSVM",
            "Class 1 is malignant.",
            "Feature 0 looks like the scaled number of the sample and not like a measurement (629 values in 683 rows); "
            "it stays because SLANG and VIFA keep it.",
            "8 rows repeat another row: 1.1 % of test rows have an identical twin in train; but for feature 0 it is "
            "234 rows and 36 %.",
        ),
        from_mat(
            "a1a",
            "Adult income, 1605 rows (a1a)",
            (1605, 123),
            "a1a.mat",
            1,
            "Kohavi 1996, Scaling up the accuracy of naive-Bayes classifiers (Adult); as 123 binary features by Platt "
            "1998, Fast training of support vector machines; the sample a1a of LIBSVM",
            "Class 1 is an income above 50,000 dollars: 25 % of rows.",
            "Only the 1605 rows of the published train part are used, the rows of VIFA's posterior experiments; a "
            "split trains on half of them. The published test part (30956 rows) is left out: its one split would not "
            "show how much a result depends on the rows trained on.",
            "The features describe people by, among others, race, sex and country of birth.",
            "10 features are constant, 4 of them padding for the last columns of the published test part; in the train "
            "part of a split it is 14 to 19.",
            "33 rows repeat another row: 2.1 % of test rows have an identical twin in train; 33 rows have a twin of "
            "the other class.",
        ),
        source(
            "usps3v5",
            "USPS digits, 3 versus 5",
            (1540, 256),
            "usps.h5",
            read_usps3v5,
            "Hull 1994, A database for handwritten text recognition research; Le Cun et al. 1990 (16 x 16 images)",
            "Both parts of the published split are pooled: 824 images of a 3 (class 0) and 716 of a 5 (class 1).",
            base_url=USPS_URL,
        ),
    )


def _splits(n_rows: int) -> tuple[Split, ...]:
    return fixed_splits(n_rows, N_SPLITS, SEED, TEST_FRACTION)


def _files() -> dict[str, File]:
    """Return the pinned files, by path."""
    rows = Path(__file__).with_name("uci_classification.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return {path: File(path, int(size), sha256) for path, size, sha256 in (row.split("\t") for row in rows)}
