"""Where the data folder is."""

import os
from pathlib import Path

VARIABLE = "BENCH_DATA_DIR"


def data_dir(override: str | os.PathLike | None = None) -> Path:
    """The data folder: `override`, else the environment variable BENCH_DATA_DIR, else the user's cache folder."""
    chosen = override or os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("lockstep-bench", appauthor=False)
