"""Location of the data folder."""

import os
from pathlib import Path

VARIABLE = "BENCH_DATA_DIR"


def data_dir(override: str | os.PathLike[str] | None = None) -> Path:
    """Return the data folder: `override`, or else the variable BENCH_DATA_DIR, or else the user's cache folder."""
    chosen = override or os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("lockstep-bench", appauthor=False)
