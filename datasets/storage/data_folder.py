"""Location of the data folder, which holds the downloaded files of data sets."""

import os
from pathlib import Path

from lockstep_bench.datasets.errors import InvalidFolder
from lockstep_bench.datasets.paths import nearest_folder, shown

VARIABLE = "BENCH_DATA_DIR"


def data_dir(override: str | os.PathLike[str] | None = None) -> Path:
    """Return the data folder: `override`, or else the variable BENCH_DATA_DIR, or else the user's cache folder.

    Raises:
        InvalidFolder: the chosen path cannot be a folder.
    """
    chosen = override or os.environ.get(VARIABLE)
    if chosen:
        folder = Path(chosen).expanduser()
        try:
            nearest_folder(folder)
        except OSError as error:
            raise InvalidFolder(
                f"{shown(folder)} cannot be the data folder: {error.strerror}; choose another with --data-dir or "
                f"{VARIABLE}"
            ) from None
        return folder
    from platformdirs import user_cache_path

    return user_cache_path("lockstep-bench", appauthor=False)
